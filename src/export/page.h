/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pages for a browser: HTML, CSS and JavaScript as one text in two halves. Between them goes the
 * data, as JSON without a '<'. A page asks for nothing else and can be read from a file. The parts
 * that all have are in src/export/page.
 */
#ifndef VB_EXPORT_PAGE_H
#define VB_EXPORT_PAGE_H

/* UTF-8, ending with 0. Traffic: src/export/report, cmd/page. */
extern const unsigned char vb_page_head[], vb_page_tail[];
/* The queues of a QP: src/export/queues, cmd/queues/queues.h. */
extern const unsigned char vb_queues_page_head[], vb_queues_page_tail[];
/* A fabric: src/export/fabric/page, cmd/fabric/show. */
extern const unsigned char vb_fabric_page_head[], vb_fabric_page_tail[];

#endif
