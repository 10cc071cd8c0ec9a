package learning

import "cairn/internal/domain/memoryskill/designer"

type (
	// MinedCase is a selected case with the computed cause of its failure.
	MinedCase = designer.MinedCase
	// BankCandidate is the bank that results from a proposal.
	BankCandidate = designer.Candidate
	// Analysis is a model's analysis of the cases.
	Analysis = designer.Analysis
)

// DescribeCandidate returns a short text about a candidate, to exclude it from later rounds.
func DescribeCandidate(c *BankCandidate) string { return designer.Describe(c.Changes) }
