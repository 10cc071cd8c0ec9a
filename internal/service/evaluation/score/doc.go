// Package score tells how good an answer is, or what was read to give it: the F1
// of arXiv 2602.02474, the share of an answer's words that were read, the share of
// the evidence that was, and the rate of tasks that succeeded.
package score
