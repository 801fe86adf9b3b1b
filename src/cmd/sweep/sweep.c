/* SPDX-License-Identifier: BSD-2-Clause */
/* `verbena sweep`: a scenario with many values of its parameters. See sweep.h. */
#include "cmd/sweep/sweep.h"
#include "export/painter.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPT_GRID, OPT_LIST, OPT_SEEDS, OPT_OUT, OPT_JOBS, OPT_X, OPT_Y, OPT_FIGURES, OPT_QUIET };

static const struct vb_cmd_option options[] = {
    [OPT_GRID] = {'g', "grid", "PATH=V,V", "run with each of these values; may be given again"},
    [OPT_LIST] = {'l', "list", "FILE", "run the points of FILE, a line of PATH=VALUE for each"},
    [OPT_SEEDS] = {'s', "seeds", "N", "run each point with N seeds"},
    [OPT_OUT] = {'o', "out", "DIR", "where results are kept; required"},
    [OPT_JOBS] = {'j', "jobs", "N", "points run at once; else one for each core"},
    [OPT_X] = {'x', "x", "PATH", "the plot's axis to the right"},
    [OPT_Y] = {'y', "y", "NAME", "what the plot shows; else goodput_bps"},
    [OPT_FIGURES] = {0, "figures", "DIR", "write each figure for a paper, as SVG and PDF"},
    [OPT_QUIET] = {'q', "quiet", NULL, "no progress and no table"},
    {0},
};

/* The rank that an MPI launcher gave this process, by launcher: Open MPI; MPICH, Intel MPI and
 * srun with PMI. */
static const struct {
	const char *rank, *ranks, *id;
} launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE"},
    {"PMI_RANK", "PMI_SIZE", "PMI_JOBID"},
};

static bool parse_number(const char *text, uint32_t max, uint32_t *out)
{
	char *end;

	errno = 0;

	unsigned long v = text ? strtoul(text, &end, 10) : 0;

	if (!text || !*text || *text == '-' || *end || errno || v > max)
		return false;
	*out = (uint32_t)v;
	return true;
}

static void find_rank(struct vb_sweep *s)
{
	s->rank = 0;
	s->ranks = 1;
	s->run_id = "-";
	for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++) {
		const char *id = getenv(launchers[i].id);
		uint32_t rank, ranks;

		if (!parse_number(getenv(launchers[i].rank), UINT32_MAX - 1, &rank) ||
		    !parse_number(getenv(launchers[i].ranks), UINT32_MAX, &ranks) || rank >= ranks)
			continue;
		s->rank = rank;
		s->ranks = ranks;
		s->run_id = id ? id : "-";
		return;
	}
}

static int load_text(struct vb_sweep *s)
{
	FILE *f = fopen(s->path, "r");
	size_t cap = 0, n;

	if (!f) {
		vb_cmd_error(s->cmd, "%s cannot be read: %s", s->path, strerror(errno));
		return 1;
	}
	do {
		if (cap - s->text_len < 4096) {
			char *more = realloc(s->text, cap += 65536);

			if (!more) {
				fclose(f);
				vb_cmd_error(s->cmd, "no memory");
				return 1;
			}
			s->text = more;
		}
		n = fread(s->text + s->text_len, 1, cap - s->text_len, f);
		s->text_len += n;
	} while (n);
	n = ferror(f) ? 1 : 0;
	fclose(f);
	if (n || s->text_len == 0)
		vb_cmd_error(s->cmd, "%s %s", s->path, n ? "cannot be read" : "is empty");
	return n || s->text_len == 0;
}

/* Every point's scenario is read before the first one runs. */
static int check_points(const struct vb_sweep *s)
{
	static struct vb_scenario sc;
	char why[1024];

	for (uint32_t i = 0; i < s->point_cnt; i++) {
		int bad = vb_sweep_read(s, i, &sc, why, sizeof why);

		vb_scenario_free(&sc);
		if (bad) {
			vb_cmd_error(s->cmd, "%s", why);
			return 1;
		}
	}
	return 0;
}

/* The scenario's own points, once --grid and --list have said theirs. */
static int plan_points(struct vb_sweep *s, uint32_t seeds)
{
	static struct vb_scenario sc;
	char why[1024];
	FILE *f;
	uint64_t first;
	int bad;

	if (seeds == 0 && s->point_cnt == 0)
		return vb_cmd_usage(s->cmd, "nothing is swept: give --grid, --list or --seeds");
	if (seeds == 0)
		return 0;
	f = fmemopen(s->text, s->text_len, "r");
	if (!f) {
		vb_cmd_error(s->cmd, "no memory");
		return 1;
	}
	bad = vb_scenario_read(&sc, f, s->path, why, sizeof why);
	first = sc.seed;
	vb_scenario_free(&sc);
	fclose(f);
	if (bad) {
		vb_cmd_error(s->cmd, "%s", why);
		return 1;
	}
	return vb_sweep_seeds(s, first, seeds);
}

static int run_points(struct vb_sweep *s, struct vb_sweep_figures *g, const char *x, const char *y)
{
	int status = vb_sweep_check_plot(s, x, y), failed;

	if (!status)
		status = check_points(s);
	if (!status)
		status = vb_sweep_open(s);
	if (!status && s->rank == 0)
		status = vb_sweep_figures_begin(s, g);
	if (status)
		return status;
	failed = vb_sweep_work(s);
	if (s->rank != 0)
		return failed;
	status = vb_sweep_table(s);
	if (!status)
		status = vb_sweep_plot(s, x, y);
	if (!status && g->dir)
		status = vb_sweep_figures_write(s, g, x, y);
	if (!status)
		status = vb_cmd_finish(s->cmd);
	return status ? status : failed;
}

/* Grids and lists are kept until the scenario has been read; @argv holds their texts. */
struct given {
	const char *grid[VB_SWEEP_COLUMNS_MAX], *list, *seeds, *jobs, *x, *y, *figures;
	uint32_t grids;
};

static int read_options(struct vb_sweep *s, struct given *g, int argc, char **argv)
{
	const char *arg;
	int opt;

	for (;;) {
		while ((opt = vb_cmd_next_option(s->cmd, argc, argv, &arg)) != -1) {
			const char **to[] = {
			    [OPT_LIST] = &g->list,
			    [OPT_SEEDS] = &g->seeds,
			    [OPT_OUT] = &s->dir,
			    [OPT_JOBS] = &g->jobs,
			    [OPT_X] = &g->x,
			    [OPT_Y] = &g->y,
			    [OPT_FIGURES] = &g->figures,
			};

			if (opt == OPT_QUIET)
				s->quiet = true;
			else if (opt != OPT_GRID)
				*to[opt] = arg;
			else if (g->grids == VB_SWEEP_COLUMNS_MAX)
				return vb_cmd_usage(s->cmd, "at most %d parameters are swept",
						    VB_SWEEP_COLUMNS_MAX);
			else
				g->grid[g->grids++] = arg;
		}
		if (optind == argc || s->path)
			break;
		s->path = argv[optind++];
	}
	if (!s->path || optind != argc)
		return vb_cmd_usage(s->cmd, "expected one scenario file");
	if (!s->dir)
		return vb_cmd_usage(s->cmd, "--out DIR is missing");
	return 0;
}

static int run_sweep(const struct vb_cmd *cmd, int argc, char **argv)
{
	static struct vb_sweep s;
	static struct given g;
	struct vb_sweep_figures figures = {0};
	uint32_t seeds = 0;
	int status;

	s.cmd = cmd;
	find_rank(&s);
	status = read_options(&s, &g, argc, argv);
	if (status)
		return status;
	/* A rank of a job is one worker; else there is one for each core. */
	s.jobs = s.ranks > 1 ? 1 : (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	if (g.jobs && (!parse_number(g.jobs, 4096, &s.jobs) || s.jobs == 0))
		return vb_cmd_usage(cmd, "--jobs is 1 to 4096, not \"%s\"", g.jobs);
	if (g.seeds && (!parse_number(g.seeds, VB_SWEEP_POINTS_MAX, &seeds) || seeds == 0))
		return vb_cmd_usage(cmd, "--seeds is 1 to %u, not \"%s\"", VB_SWEEP_POINTS_MAX,
				    g.seeds);
	figures.dir = g.figures;
	status = load_text(&s);
	if (!status && g.list)
		status = vb_sweep_list(&s, g.list);
	for (uint32_t i = 0; !status && i < g.grids; i++)
		status = vb_sweep_grid(&s, g.grid[i]);
	if (!status)
		status = plan_points(&s, seeds);
	if (!status)
		status = run_points(&s, &figures, g.x, g.y ? g.y : "goodput_bps");
	vb_painter_close(figures.painter);
	vb_sweep_free(&s);
	return status;
}

const struct vb_cmd vb_cmd_sweep = {
    .name = "sweep",
    .arguments = "SCENARIO --out DIR",
    .text = "Runs a scenario with many values of its parameters, on all cores or ranks of MPI.",
    .options = options,
    .run = run_sweep,
};
