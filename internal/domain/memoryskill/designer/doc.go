// Package designer decides how a bank of memory skills evolves. It selects failures to examine,
// checks proposals, and compares results. The proposals come from a model. All functions are pure
// and deterministic.
//
// Failed queries are collected in a buffer. Mine selects representative cases, and Label determines
// the failed mechanism of each:
//
//	buffer = buffer.Fail(c, iteration)
//	for _, r := range designer.Mine(buffer.Cases(iteration), vectors, designer.DefaultMining()) { … }
//	mechanism := designer.Label(c, view)
//
// A proposal is decoded strictly, and applied completely or not at all:
//
//	proposal, err := designer.Decode(reply)
//	round, problems := designer.Apply(bank, proposal, designer.Rules{Edits: 3})
//
// Progress keeps the best snapshot of the stages, restores it, and ends the training:
//
//	progress, verdict := progress.Close(stage, limits)
package designer
