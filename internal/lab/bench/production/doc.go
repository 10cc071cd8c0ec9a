// Package production is the experiment for a deployment as in production: several workers and gateways
// as processes, PgBouncer in transaction mode, a Postgres with a replica, and a Temporal server that
// fails. Each step causes a fault, and then counts what must hold.
//
//	result, err := production.Run(ctx, production.Options{Steps: []int{4, 5}, Log: os.Stderr})
//	if err != nil {
//		return err // the experiment could not run
//	}
//	result.Print(os.Stdout)
//	if !result.Held() { … }
//
// Each message contains a mark: the step, the workspace and a number. The scripted model repeats the
// mark in its reply. So lost and doubled replies and rows of other workspaces are visible in
// transcripts, tables and requests to the model.
//
// Everything listens on the loopback interface, and ends with the experiment. It does not use servers
// that the environment names.
package production
