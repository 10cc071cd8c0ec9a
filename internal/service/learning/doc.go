// Package learning is the use-case over memory skills: banks with the policies that
// choose from them, memories that are built with them, the questions that memory
// failed at, and how both learn from these.
//
//	head, err := service.Bank(ctx, ws, evolve.DefaultBank)        // seeded when it is not there
//	r, err := service.Build(ctx, evolve.BuildRequest{…})         // a session becomes memories
//	c, err := service.Note(ctx, ws, evolve.Failed{…})            // a question becomes a hard case
//	r, err := service.Evolve(ctx, evolve.EvolveRequest{…})       // a round of the designer
//	rs, err := service.AdaptDue(ctx, evolve.Due{…})              // the policy learns from live decisions
//	r, err := service.Train(ctx, evolve.TrainRequest{…})         // policy and bank learn together
//
// Bank, policy and optimiser are one version: promoted, rolled back and verified
// together, moved by compare-and-swap, by one writer at a time. Each method is a
// step that may be run again at any time; model calls go through the ledger.
package learning
