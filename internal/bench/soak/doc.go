// Package soak is the experiment behind "nothing accepted is lost" for
// conversations: many of them talk at once, with a scripted model, while their
// worker is killed every few seconds, and afterwards everything is counted.
//
//	result, err := soak.Run(ctx, soak.Options{Seed: 7, Log: os.Stderr})
//	if err != nil {
//		return err // the experiment itself could not be carried out
//	}
//	result.Print(os.Stdout)
//	if !result.Held() { … }
//
// Each conversation belongs to a workspace of its own, as with one end user
// each. In some of its turns the model looks something up, in some it saves a
// memory, in the others it only answers; the seed decides. Each reply carries the
// number of the request that it answers, so that two replies to one request that
// both took effect are seen as two answers, or two memories. When reviews are due
// is computed with internal/domain/nudge from what the script saves.
//
// The stack is the experiment's own. Nothing that the environment names is used.
package soak
