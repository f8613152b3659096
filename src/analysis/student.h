/*
 * Student's t distribution: the distance of an estimate from the true value when its variance was
 * estimated, too, from few observations. Pure: no I/O.
 *
 * deviations  standard deviations, as estimated
 * degrees     degrees of freedom of that estimate, above 0, not always whole; INFINITY: the
 *             variance is known
 *
 * Source: "Student", The probable error of a mean, Biometrika 6 (1908); NIST Digital Library of
 * Mathematical Functions, section 8.17 (incomplete beta function).
 */
#ifndef ANALYSIS_STUDENT_H
#define ANALYSIS_STUDENT_H

/* The chance of so many deviations or more, in either direction: from 0 to 1. */
double student_get_chance(double deviations, double degrees);

/*
 * The inverse: the deviations that have this chance. For a known variance at most 38.5: smaller
 * chances underflow a double.
 */
double student_get_deviations(double chance, double degrees);

/* Convert a chance computed for a known variance to an estimated one. */
double student_widen_chance(double chance, double degrees);

#endif
