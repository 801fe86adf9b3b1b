/* SPDX-License-Identifier: BSD-2-Clause */
/* The words of a link and of an end: LID, LMC, width, speed. See read.h. */
#include "fabric/topology/text/read.h"
#include "wire/ib/rate.h"

#include <string.h>

#define LID_MAX 0xbfffu /* unicast. IBA 4.1.3 */
#define LMC_MAX 7u

enum rate { NO_RATE, BAD_RATE, RATE };

/* "4xEDR"; what ibnetdiscover does not know it prints as '?', and "4x" alone says the width. */
static enum rate read_rate(struct vb_lex word, struct vb_topo_facts *f)
{
	uint64_t lanes = 0;

	if (!vb_lex_text(&word, "??") &&
	    (!vb_lex_number(&word, &lanes) || !vb_lex_char(&word, 'x') ||
	     (word.at < word.end && vb_lex_is_digit(*word.at))))
		return NO_RATE;
	for (uint32_t width = VB_IB_1X; width <= VB_IB_2X; width *= 2) {
		if (lanes && vb_ib_lanes(width) == lanes)
			f->width = (uint8_t)width;
	}
	if (word.at == word.end || *word.at == '?')
		return lanes && !f->width ? BAD_RATE : RATE;
	for (uint32_t speed = VB_IB_SDR; speed <= VB_IB_XDR; speed *= 2) {
		const char *name = vb_ib_speed_row(speed)->name;

		if (strlen(name) == (size_t)(word.end - word.at) &&
		    memcmp(name, word.at, strlen(name)) == 0)
			f->speed = (uint16_t)speed;
	}
	return (lanes && !f->width) || !f->speed ? BAD_RATE : RATE;
}

/* w=, s=, e= of ibsim: bits of LinkWidthEnabled, LinkSpeedEnabled, LinkSpeedExtEnabled. */
static bool read_option(struct vb_lex word, struct vb_topo_facts *f)
{
	char option = *word.at++;
	uint64_t n;

	if (!vb_lex_char(&word, '=') || !vb_lex_number(&word, &n) || word.at < word.end)
		return false;
	if (option == 'w' && n >= 1 && n <= 31)
		f->width = f->width ? f->width : (uint8_t)n;
	else if (option == 's' && n <= 7)
		f->option |= (uint16_t)n;
	else if (option == 'e' && n <= 31)
		f->option |= (uint16_t)(n << 4);
	else
		return option == 'v';
	return true;
}

/* "lid 4", "lmc 0"; the number is the next of @words. */
static int read_lid(struct vb_topo_reader *r, struct vb_lex *words, bool is_lmc,
		    struct vb_topo_facts *f)
{
	struct vb_lex number;
	uint64_t n;

	if (!vb_lex_word(words, &number) || !vb_lex_number(&number, &n) || number.at < number.end)
		return 0; /* words of a comment */
	if (n > (is_lmc ? LMC_MAX : LID_MAX))
		return REFUSE_HERE(r, "% is at most %, not %", SAY_TEXT(is_lmc ? "lmc" : "lid"),
				   SAY_DEC(is_lmc ? LMC_MAX : LID_MAX), SAY_DEC(n));
	if (is_lmc)
		f->lmc = (uint8_t)n;
	else
		f->lid = (uint16_t)n;
	return 0;
}

static bool word_is(const struct vb_lex *word, const char *text)
{
	size_t len = strlen(text);

	return (size_t)(word->end - word->at) == len && memcmp(word->at, text, len) == 0;
}

int vb_topo_read_facts(struct vb_topo_reader *r, struct vb_lex words, bool comment,
		       struct vb_topo_facts *f)
{
	struct vb_lex word;
	int err = 0;

	while (!err && vb_lex_word(&words, &word)) {
		size_t len = (size_t)(word.end - word.at);
		enum rate rate = read_rate(word, f);

		r->lex.at = word.at;
		if (word_is(&word, "lid") || word_is(&word, "lmc"))
			err = read_lid(r, &words, word.at[1] == 'm', f);
		else if (word_is(&word, "enhanced"))
			f->enhanced = true;
		else if (rate == BAD_RATE)
			err =
			    REFUSE_HERE(r,
					"there is no link \"%\": it is 1x, 2x, 4x, 8x or 12x, and "
					"SDR to XDR, as 4xEDR",
					SAY_PART(word.at, len));
		else if (rate == NO_RATE && !read_option(word, f) && !comment)
			err = REFUSE_HERE(
			    r,
			    "expected w=1 to w=31, s=0 to s=7, e=0 to e=31, or '#', not "
			    "\"%\"",
			    SAY_PART(word.at, len));
	}
	return err;
}
