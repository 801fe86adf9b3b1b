/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The page of traffic: HTML, CSS and JavaScript of src/export/report as one text in
 * two halves. Between them goes the data, as JSON without a '<'. The page asks for nothing else and
 * can be read from a file.
 */
#ifndef VB_EXPORT_PAGE_H
#define VB_EXPORT_PAGE_H

/* UTF-8, ending with 0. */
extern const unsigned char vb_page_head[], vb_page_tail[];

#endif
