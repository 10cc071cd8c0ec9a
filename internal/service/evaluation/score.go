// Package score contains metrics of answers and retrieval: the F1 of arXiv 2602.02474, the share of
// the answer's words that were read, the share of the evidence that was read, and the success rate
// of tasks.

package evaluation
