// Package chaos is the experiment behind "effects happen once": distillations
// come in while their worker is killed every few seconds, Postgres crashes and
// Temporal is killed, and afterwards everything is counted.
//
//	result, err := chaos.Run(ctx, chaos.Options{Seed: 7, Log: os.Stderr})
//	if err != nil {
//		return err // the experiment itself could not be carried out
//	}
//	result.Print(os.Stdout)
//	if !result.Held() { … }
//
// The requests, what the scripted model answers and when the servers are
// crashed follow from the seed; what the kills hit does not. Requests come in as
// from a gateway: accepted through the use-case, started through Temporal, and
// sent again when either is unavailable. Some are sent by two clients at once,
// and some are only accepted, so that the relay has to drive them.
//
// Every conversation leaves a lesson of its own in the skills that it teaches,
// so an update that another one overwrote is seen as a missing lesson, and one
// that was applied twice as a version too many. Model calls are counted on both
// sides, in the ledger and in the server that answered them.
//
// The stack is the experiment's own. Nothing that the environment names is used,
// let alone crashed.
package chaos
