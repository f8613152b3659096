#include "analysis/student.h"

#include <math.h>

/* With more degrees the normal distribution differs only in the seventh digit. */
#define MANY_DEGREES   1e7
#define MAX_DEVIATIONS 40
#define MAX_TERMS      2000
#define PRECISION      1e-14
/* Avoids a zero denominator in the continued fraction. */
#define TINY 1e-300

static double get_log_gamma(double x)
{
	int sign;

	return lgamma_r(x, &sign);
}

static double keep_off_zero(double x)
{
	return fabs(x) < TINY ? TINY : x;
}

/* The continued fraction of the incomplete beta function (8.17.22), by Lentz's method. */
static double get_fraction(double x, double a, double b)
{
	double c = 1;
	double d = 1 / keep_off_zero(1 - (a + b) * x / (a + 1));
	double fraction = d;

	for (int m = 1; m < MAX_TERMS; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double step;

		d = 1 / keep_off_zero(1 + even * d);
		c = keep_off_zero(1 + even / c);
		fraction *= d * c;
		d = 1 / keep_off_zero(1 + odd * d);
		c = keep_off_zero(1 + odd / c);
		step = d * c;
		fraction *= step;
		if (fabs(step - 1) < PRECISION)
			break;
	}
	return fraction;
}

/*
 * The regularized incomplete beta function.
 *
 * rest  1 - x, given separately since x may be too close to 1
 */
static double get_beta(double x, double rest, double a, double b)
{
	double front;

	if (x <= 0 || rest <= 0)
		return x <= 0 ? 0 : 1;
	front = exp(get_log_gamma(a + b) - get_log_gamma(a) - get_log_gamma(b) + a * log(x) +
		    b * log(rest));
	/* The fraction converges fast only on this side. */
	if (x < (a + 1) / (a + b + 2))
		return front * get_fraction(x, a, b) / a;
	return 1 - front * get_fraction(rest, b, a) / b;
}

double student_get_chance(double deviations, double degrees)
{
	double square = deviations * deviations;

	if (degrees > MANY_DEGREES)
		return erfc(fabs(deviations) / sqrt(2));
	return get_beta(degrees / (degrees + square), square / (degrees + square), degrees / 2,
			0.5);
}

/* Bisection: the chance only falls as the deviations grow. */
double student_get_deviations(double chance, double degrees)
{
	double low = 0;
	double high = MAX_DEVIATIONS;

	/* With one or two degrees even a common chance needs many deviations. */
	while (high < 1e9 && degrees <= MANY_DEGREES && student_get_chance(high, degrees) > chance)
		high *= 2;
	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;

		if (student_get_chance(middle, degrees) > chance)
			low = middle;
		else
			high = middle;
	}
	return low;
}

double student_widen_chance(double chance, double degrees)
{
	if (degrees > MANY_DEGREES)
		return chance;
	return student_get_chance(student_get_deviations(chance, INFINITY), degrees);
}
