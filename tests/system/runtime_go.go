// SPDX-License-Identifier: BSD-2-Clause
//
// A nil pointer in Go is a fault that the runtime makes a panic of. It goes on doing so when the
// adapter, opened through cgo, has put its handler of SIGSEGV in front of the runtime's.

package main

/*
#cgo LDFLAGS: -libverbs
#include <infiniband/verbs.h>
#include <stdlib.h>
static struct ibv_context *open_first(void) {
	struct ibv_device **l = ibv_get_device_list(NULL);
	return l && l[0] ? ibv_open_device(l[0]) : NULL;
}
static struct ibv_mr *reg(struct ibv_context *c, void *p, size_t n) {
	return ibv_reg_mr(ibv_alloc_pd(c), p, n, IBV_ACCESS_LOCAL_WRITE);
}
*/
import "C"
import (
	"fmt"
	"os"
)

type node struct {
	next  *node
	value int
}

func deref(n *node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	n.value = 7
	return nil
}

func main() {
	if err := deref(nil); err == nil {
		os.Exit(1)
	}
	c := C.open_first()
	if c == nil {
		os.Exit(2)
	}
	if C.reg(c, C.malloc(4096), 4096) == nil {
		os.Exit(3)
	}
	done := make(chan error)
	for i := 0; i < 4; i++ {
		go func() { done <- deref(nil) }()
	}
	for i := 0; i < 4; i++ {
		if <-done == nil {
			os.Exit(4)
		}
	}
	fmt.Println("ok")
}
