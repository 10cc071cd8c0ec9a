// Package designer decides what a bank of memory skills should say next: which
// failures to look at, whether a proposal may be applied, and whether what came
// of it is better. The proposals themselves come from a model; everything here is
// pure and repeats itself.
//
// Failed queries gather in a buffer and are mined for a few that stand for the
// rest, each with the mechanism that failed:
//
//	buffer = buffer.Fail(c, iteration)
//	for _, r := range designer.Mine(buffer.Cases(iteration), vectors, designer.DefaultMining()) { … }
//	mechanism := designer.Label(c, view)
//
// A proposal is decoded strictly and applied whole or not at all:
//
//	proposal, err := designer.Decode(reply)
//	round, problems := designer.Apply(bank, proposal, designer.Rules{Edits: 3})
//
// Stages keep the best snapshot, go back to it, and end the run:
//
//	progress, verdict := progress.Close(stage, limits)
package designer
