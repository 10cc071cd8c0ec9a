package schedule

// Outcomes of a firing.
const (
	Started = "started"

	Collapsed = "collapsed" // the date already has a reflection
	Skipped   = "skipped"   // too late, or the previous turn has no reply yet
	Failed    = "failed"
)

const (
	maxTasks = 100 // of one workspace

)
