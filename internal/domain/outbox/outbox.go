package outbox

import (
	"crypto/sha256"
	"time"

	"cairn/internal/domain/run"
)

// Lane is a part of the outbox with its own workers and claims.
type Lane struct {
	Name    string
	Kinds   []string // of its tasks
	Workers int      // tasks in progress at the same time
	Polls   int      // of the empty lane, in the time of Ports.Every
}

// Lanes contains each kind of task once. The workers hold a connection of the pool only for moments, so
// their sum may exceed its size.
var Lanes = []Lane{
	{"turns", []string{DriveTurn, HandleEvents}, 8, 4},
	{"deliveries", []string{Deliver, ReportRun}, 8, 1},
	{"background", []string{DriveRun, NotifySettings, StoreImport, ImportTrace}, 8, 1},
	// They wait for an endpoint, which may hang. Starts of runs do not.
	{"vectors", []string{EmbedDoc}, 8, 1},
}

// Kinds returns all kinds of outbox tasks.
func Kinds() (kinds []string) {
	for _, l := range Lanes {
		kinds = append(kinds, l.Kinds...)
	}
	return kinds
}

// Awaited returns the kinds of runs that a caller waits for: replies and answers to questions.
func Awaited() []string {
	return []string{string(run.Turn), string(run.Completion), string(run.Retrieve)}
}

// Kinds of outbox tasks.
const (
	DriveTurn      = "turn"     // key: ID of a run that a caller waits for; stays until the run has ended
	DriveRun       = "drive"    // key: ID of another run; stays until the run has ended
	EmbedDoc       = "embed"    // key: document ID; stays until the vector is stored
	NotifySettings = "settings" // key: 0; stays until running conversations are notified
	HandleEvents   = "event"    // key: ID of a route; stays until its events are messages of a conversation
	// key: ID of a route, a slash and a run; stays until the result of the run is a delivery
	ReportRun   = "report"
	Deliver     = "deliver" // key: ID of a route; stays until its deliveries are sent
	StoreImport = "import"  // key: ID of an import; stays until its conversations are stored
	ImportTrace = "trace"   // key: session of a trace; stays until its spans are imported
)

// Task is a row of the outbox: accepted work that is not done.
type Task struct {
	Workspace int64
	ID        int64
	Kind      string
	Key       string
	Attempts  int
	Failures  int           // attempts in a row that failed
	Claim     time.Duration // after it, another relay may claim the task
}

// A task is stuck if it has failed StuckFailures times in a row, or for StuckAge.
const (
	StuckFailures = 10
	StuckAge      = 15 * time.Minute
)

// StuckTask is an outbox task that fails again and again.
type StuckTask struct {
	Workspace int64
	Kind      string
	Key       string
	Failures  int // in a row
	LastError string
	Since     time.Duration // since the first of these failures
}

// IdlePackage is an upload without a skill version.
type IdlePackage struct {
	Workspace int64
	SHA       [sha256.Size]byte
}

// OpenErasure is an erasure that has not ended.
type OpenErasure struct {
	ID           int64
	Workspace    int64
	WorkspaceKey string
	Conversation int64 // 0 for the whole workspace or a subject
	Subject      bool
}
