/*
 * Palettes with the meaning that flamegraph.pl gives them. A colour is a base and three numbers
 * that the name's hash gives, so that a name looks the same in every graph.
 *
 * Within these palettes the shades are kept light enough that black text reads well on all of
 * them (a contrast of 4.5 or more).
 */
#include "formats/svg/colors.h"

#include <errno.h>
#include <string.h>

static const char *const palette_names[] = {
	"auto", "hot",   "mem",  "io",   "wakeup", "chain",  "java",   "js", "perl",
	"red",  "green", "blue", "aqua", "yellow", "purple", "orange", NULL,
};

const char *svg_palette_get_name(enum svg_palette palette)
{
	return palette_names[palette];
}

int svg_palette_find(const char *name, enum svg_palette *ret)
{
	for (int i = 0; palette_names[i]; i++) {
		if (string_equals(palette_names[i], name)) {
			*ret = (enum svg_palette)i;
			return 0;
		}
	}
	return -EINVAL;
}

/* Three numbers from a name's hash, each evenly distributed from 0 to 255. */
struct shade {
	uint8_t first;
	uint8_t second;
	uint8_t third;
};

/* FNV-1a and a finalizer. Not base/hash.h, so that colours stay when that hash changes. */
static struct shade get_shade(const char *name, size_t length)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)name[i]) * 16777619u;
	hash = (hash ^ hash >> 15) * 0x2c1b3c6du;
	hash ^= hash >> 12;
	return (struct shade){(uint8_t)hash, (uint8_t)(hash >> 8), (uint8_t)(hash >> 16)};
}

/* low at 0, low + range at 255 */
static uint8_t between(unsigned int low, unsigned int range, uint8_t shade)
{
	return (uint8_t)(low + range * shade / 255);
}

static struct svg_color get_plain_color(enum svg_palette palette, struct shade shade)
{
	uint8_t v = shade.first;

	switch (palette) {
	case SVG_PALETTE_MEM:
		return (struct svg_color){0, between(190, 50, shade.second), between(0, 210, v)};
	case SVG_PALETTE_IO:
		return (struct svg_color){between(90, 50, v), between(120, 50, v),
					  between(190, 55, shade.second)};
	case SVG_PALETTE_RED:
		return (struct svg_color){between(215, 40, v), between(85, 70, v),
					  between(85, 70, v)};
	case SVG_PALETTE_GREEN:
		return (struct svg_color){between(50, 60, v), between(200, 55, v),
					  between(50, 60, v)};
	case SVG_PALETTE_BLUE:
		return (struct svg_color){between(105, 55, v), between(130, 50, v),
					  between(205, 50, v)};
	case SVG_PALETTE_AQUA:
		return (struct svg_color){between(50, 60, v), between(165, 55, v),
					  between(165, 55, v)};
	case SVG_PALETTE_YELLOW:
		return (struct svg_color){between(175, 55, v), between(175, 55, v),
					  between(50, 20, v)};
	case SVG_PALETTE_PURPLE:
		return (struct svg_color){between(190, 65, v), between(105, 55, v),
					  between(190, 65, v)};
	case SVG_PALETTE_ORANGE:
		return (struct svg_color){between(205, 50, v), between(105, 65, v), 0};
	case SVG_PALETTE_AUTO:
	case SVG_PALETTE_HOT:
	case SVG_PALETTE_WAKEUP:
	case SVG_PALETTE_CHAIN:
	case SVG_PALETTE_JAVA:
	case SVG_PALETTE_JS:
	case SVG_PALETTE_PERL:
		break;
	}
	return (struct svg_color){between(205, 50, shade.third), between(80, 150, v),
				  between(0, 55, shade.second)};
}

static bool contains(const char *name, size_t length, const char *part)
{
	return memmem(name, length, part, strlen(part)) != NULL;
}

static char get_annotation(const char *label, size_t length)
{
	return length > svg_measure_name(label, length) ? label[length - 2] : '\0';
}

size_t svg_measure_name(const char *label, size_t length)
{
	if (length >= 4 && memcmp(label + length - 4, "_[", 2) == 0 && label[length - 1] == ']' &&
	    memchr("kwij", label[length - 2], 4))
		return length - 4;
	return length;
}

/*
 * java/lang/String, Ljava/lang/String. Detected by the packages of nearly all Java code, as in
 * flamegraph.pl.
 */
static bool is_java_name(const char *name, size_t length)
{
	static const char *const roots[] = {"java/", "javax/", "jdk/", "net/",
					    "org/",  "com/",   "io/",  "sun/"};

	if (length && name[0] == 'L')
		name++, length--;
	for (size_t i = 0; i < ARRAY_LENGTH(roots); i++)
		if (length >= strlen(roots[i]) && !memcmp(name, roots[i], strlen(roots[i])))
			return true;
	return false;
}

/* Java is green, inlined Java aqua, C++ yellow, the kernel orange, C red, as in flamegraph.pl. */
static enum svg_palette choose_java(char annotation, const char *name, size_t length)
{
	if (annotation == 'j')
		return SVG_PALETTE_GREEN;
	if (annotation == 'i')
		return SVG_PALETTE_AQUA;
	if (is_java_name(name, length) || contains(name, length, ":::"))
		return SVG_PALETTE_GREEN;
	if (contains(name, length, "::"))
		return SVG_PALETTE_YELLOW;
	return annotation == 'k' ? SVG_PALETTE_ORANGE : SVG_PALETTE_RED;
}

static enum svg_palette choose_perl(char annotation, const char *name, size_t length)
{
	if (contains(name, length, "::"))
		return SVG_PALETTE_YELLOW;
	if (contains(name, length, "Perl") || contains(name, length, ".pl"))
		return SVG_PALETTE_GREEN;
	return annotation == 'k' ? SVG_PALETTE_ORANGE : SVG_PALETTE_RED;
}

/* A builtin has no file (aqua); node's names contain ':' for lines and ' ' for anonymous. */
static enum svg_palette choose_js(char annotation, const char *name, size_t length)
{
	if (annotation == 'j')
		return contains(name, length, "/") ? SVG_PALETTE_GREEN : SVG_PALETTE_AQUA;
	if (contains(name, length, "::"))
		return SVG_PALETTE_YELLOW;
	if (contains(name, length, ".js"))
		return SVG_PALETTE_GREEN;
	if (contains(name, length, ":"))
		return SVG_PALETTE_AQUA;
	if (length == 1 && name[0] == ' ')
		return SVG_PALETTE_GREEN;
	return annotation == 'k' ? SVG_PALETTE_ORANGE : SVG_PALETTE_RED;
}

struct svg_color svg_get_frame_color(enum svg_palette palette, const char *label, size_t length)
{
	char annotation = get_annotation(label, length);
	size_t name_length = svg_measure_name(label, length);

	/* Between the stack that was woken and the stack that woke it. */
	if (length == 2 && memcmp(label, "--", 2) == 0)
		return (struct svg_color){160, 160, 160};
	if (length == 1 && label[0] == '-')
		return (struct svg_color){200, 200, 200};
	if (palette == SVG_PALETTE_JAVA)
		palette = choose_java(annotation, label, name_length);
	else if (palette == SVG_PALETTE_PERL)
		palette = choose_perl(annotation, label, name_length);
	else if (palette == SVG_PALETTE_JS)
		palette = choose_js(annotation, label, name_length);
	else if (palette == SVG_PALETTE_WAKEUP)
		palette = SVG_PALETTE_AQUA;
	else if (palette == SVG_PALETTE_CHAIN)
		palette = annotation == 'w' ? SVG_PALETTE_AQUA : SVG_PALETTE_BLUE;
	return get_plain_color(palette, get_shade(label, name_length));
}

struct svg_color svg_get_change_color(bool is_more, uint64_t change, uint64_t largest)
{
	unsigned __int128 faded = (unsigned __int128)210 * (largest - change);
	uint8_t level = change ? (uint8_t)(faded / largest) : 255;

	if (!change)
		return (struct svg_color){255, 255, 255};
	return is_more ? (struct svg_color){255, level, level}
		       : (struct svg_color){level, level, 255};
}

struct svg_background svg_get_background(enum svg_palette palette)
{
	static const struct svg_background yellow = {"#eeeeee", "#eeeeb0", "#24241f", "#16160f"};
	static const struct svg_background green = {"#eef2ee", "#e0ffe0", "#1f2420", "#0f1710"};
	static const struct svg_background blue = {"#eeeeee", "#e0e0ff", "#20222a", "#11131c"};
	static const struct svg_background grey = {"#f8f8f8", "#e8e8e8", "#262626", "#161616"};

	switch (palette) {
	case SVG_PALETTE_AUTO:
	case SVG_PALETTE_HOT:
	case SVG_PALETTE_JAVA:
	case SVG_PALETTE_JS:
	case SVG_PALETTE_PERL:
		return yellow;
	case SVG_PALETTE_MEM:
		return green;
	case SVG_PALETTE_IO:
	case SVG_PALETTE_WAKEUP:
	case SVG_PALETTE_CHAIN:
		return blue;
	case SVG_PALETTE_RED:
	case SVG_PALETTE_GREEN:
	case SVG_PALETTE_BLUE:
	case SVG_PALETTE_AQUA:
	case SVG_PALETTE_YELLOW:
	case SVG_PALETTE_PURPLE:
	case SVG_PALETTE_ORANGE:
		break;
	}
	return grey;
}
