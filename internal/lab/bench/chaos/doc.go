// Package chaos is the experiment for exactly-once effects. It runs distillations while it
// kills their worker every few seconds, crashes Postgres and kills Temporal. Then it counts
// lost and duplicated effects.
//
//	result, err := chaos.Run(ctx, chaos.Options{Seed: 7, Log: os.Stderr})
//	if err != nil {
//		return err // the experiment could not run
//	}
//	result.Print(os.Stdout)
//	if !result.Held() { … }
//
// The seed determines the requests, the replies of the scripted model and the times of the
// server crashes, but not what the worker kills interrupt. Requests arrive as from a
// gateway: they are accepted through the service, started through Temporal, and sent again
// if either is unavailable. Two clients send some requests at the same time. Some requests
// are only accepted, so the relay has to start them.
//
// Each conversation adds a unique lesson to its skills. A lost update therefore shows as a
// missing lesson, and a repeated update as an extra version. Model calls are counted in the
// ledger and on the model server.
//
// The experiment starts its own servers. It never uses servers that the environment names.
package chaos
