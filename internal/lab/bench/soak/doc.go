// Package soak is the experiment for the durability of conversations. Many conversations run in
// parallel with a scripted model while their worker is killed every few seconds. Then it counts
// lost and duplicated turns, memories and reviews.
//
//	result, err := soak.Run(ctx, soak.Options{Seed: 7, Log: os.Stderr})
//	if err != nil {
//		return err // the experiment could not run
//	}
//	result.Print(os.Stdout)
//	if !result.Held() { … }
//
// Each conversation has its own workspace, like an end user. In some turns the model searches
// memories, in some it saves a memory, in the others it only replies; the seed decides. Each
// reply contains the number of its request. Two effective replies to one request therefore show
// as two replies or two memories. The expected reviews are computed with internal/domain/nudge
// from the memories that the script saves.
//
// The experiment starts its own servers. It does not use servers that the environment names.
package soak
