package relay

import "cairn/internal/domain/run"

// lane is a part of the outbox with its own workers and claims.
type lane struct {
	name    string
	kinds   []string // of its tasks
	workers int      // tasks in progress at the same time
	polls   int      // of the empty lane, in the time of Ports.Every
}

// lanes contains each kind of task once. The workers hold a connection of the pool only for moments, so
// their sum may exceed its size.
var lanes = []lane{
	{"turns", []string{DriveTurn, HandleEvents}, 8, 4},
	{"deliveries", []string{Deliver, ReportRun}, 8, 1},
	{"background", []string{DriveRun, NotifySettings, StoreImport, ImportTrace}, 8, 1},
	// They wait for an endpoint, which may hang. Starts of runs do not.
	{"vectors", []string{EmbedDoc}, 8, 1},
}

// packages is the number of packages, erasures or workspaces that a pass of Recover or Clean handles.
const packages = 50

// Kinds returns all kinds of outbox tasks.
func Kinds() (kinds []string) {
	for _, l := range lanes {
		kinds = append(kinds, l.kinds...)
	}
	return kinds
}

// Awaited returns the kinds of runs that a caller waits for: replies and answers to questions.
func Awaited() []string {
	return []string{string(run.Turn), string(run.Completion), string(run.Retrieve)}
}
