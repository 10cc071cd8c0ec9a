package policy

import "cairn/internal/domain/memoryskill/keyedrand"

// Controller makes choosers, trains them with decisions, and encodes and decodes them. Equal
// arguments give equal results. PPOLearner is the one that Cairn has.
type Controller interface {
	// Start returns c and o if c has form f, and otherwise an untrained chooser of that form. c is
	// nil if there is none yet. Equal keys give equal choosers.
	Start(c Chooser, o Optimizer, f Form, key keyedrand.Key) (Chooser, Optimizer, error)
	// Update trains on a batch. It does not modify the given chooser and optimizer.
	Update(c Chooser, o Optimizer, b Batch) (Chooser, Optimizer, Report, error)
	// Accepts reports whether c can learn from d, which another chooser may have made.
	Accepts(c Chooser, d Decision) bool
	// Encode returns both in the form that is stored under their hashes.
	Encode(c Chooser, o Optimizer) (chooser, optimizer []byte, err error)
	// Decode decodes the results of Encode.
	Decode(chooser, optimizer []byte) (Chooser, Optimizer, error)
}
