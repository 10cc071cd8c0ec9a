package schedule

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/recurrence"
)

// Kind is what a task does.
type Kind string

const (
	Reflection Kind = "reflection"
	Curate     Kind = "curate"
	Evolution  Kind = "evolution"
	Turn       Kind = "turn"
)

// What became of a firing.
const (
	Started   = "started"
	Empty     = "empty"     // there was nothing to do
	Collapsed = "collapsed" // the date has its reflection already
	Skipped   = "skipped"   // late, or the turn before has no answer yet
	Failed    = "failed"
)

// Overlap is what happens when the turn before has no answer yet.
const (
	OverlapSkip  = "skip"
	OverlapQueue = "queue"
)

// Task is a row of what is to be done again and again.
type Task struct {
	ID       int64         `json:"id"`
	Name     string        `json:"name"`
	Kind     Kind          `json:"kind"`
	Cron     string        `json:"cron"`
	Zone     string        `json:"time_zone" doc:"IANA name"`
	Zoned    bool          `json:"own_time_zone" doc:"Set for the task; else the workspace's"`
	Prompt   string        `json:"prompt,omitempty"`
	Channel  string        `json:"channel"`
	MaxTurns int           `json:"max_turns,omitempty" doc:"Model calls; 0 is the channel's budget"`
	CatchUp  time.Duration `json:"-"`
	Overlap  string        `json:"overlap"`
	PausedAt *time.Time    `json:"paused_at,omitempty"`
	DueAt    *time.Time    `json:"due_at,omitempty" doc:"The next firing; absent until the sweep has planned a new task"`
	DueDate  string        `json:"due_date,omitempty" doc:"Local date of the next firing"`
	StartsAt *time.Time    `json:"starts_at,omitempty" doc:"When the next firing is started at the earliest: after the quiet hours, and for built-in tasks at the workspace's place in CAIRN_SWEEP_JITTER"`
	Off      bool          `json:"off" doc:"Turned off in the settings: reflection"`
	Last     *FiringRecord `json:"last,omitempty"`
	Created  time.Time     `json:"created_at"`

	Now          time.Time  `json:"-"` // the database's, when the task was read
	WorkspaceKey string     `json:"-"`
	Quiet        QuietHours `json:"-"`
}

// FiringRecord is a firing and what became of it.
type FiringRecord struct {
	At      time.Time `json:"at"`
	Date    string    `json:"local_date"`
	Key     string    `json:"key"`
	Outcome string    `json:"outcome" doc:"started, empty, collapsed, skipped or failed; absent while it is under way"`
	Reason  string    `json:"reason,omitempty"`
}

// Conversation is the thread that a task's prompts are said in.
func (t Task) Conversation() string { return fmt.Sprintf("schedule/%s/%d", t.Name, t.ID) }

// Cadence is when the task is due.
func (t Task) Cadence() (recurrence.Schedule, error) { return recurrence.Parse(t.Cron, t.Zone) }

// Draft is a task that is to be.
type Draft struct {
	Name     string
	Cron     string
	Zone     string // empty: the workspace's
	Prompt   string
	Channel  string        // empty: scheduled
	MaxTurns int           // 1–50; 0 leaves the channel's budget
	CatchUp  time.Duration // 0 means 12 h; at most 7 days
	Overlap  string        // empty: skip
}

const (
	defaultCatchUp = 12 * time.Hour
	mostCatchUp    = 7 * 24 * time.Hour
	mostTasks      = 100    // of one workspace
	mostPrompt     = 32_000 // runes, as of a message
)

var (
	names    = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	channels = []string{"voice", "sms", "chat", "scheduled"}
)

// settle fills what was left open and refuses what cannot be meant.
func (d Draft) settle() (Draft, error) {
	if d.Channel == "" {
		d.Channel = "scheduled"
	}
	if d.Overlap == "" {
		d.Overlap = OverlapSkip
	}
	if d.CatchUp == 0 {
		d.CatchUp = defaultCatchUp
	}
	switch {
	case !names.MatchString(d.Name) || len(d.Name) > 64:
		return d, fault.New(fault.InvalidArgument, fmt.Sprintf("%q is no name for a scheduled task", d.Name),
			"use lower-case words and digits joined by hyphens, at most 64 characters, such as morning-report")
	case strings.TrimSpace(d.Prompt) == "":
		return d, fault.New(fault.InvalidArgument, "the prompt is empty", "say what is to be done each time")
	case utf8.RuneCountInString(d.Prompt) > mostPrompt:
		return d, fault.New(fault.TooLarge, fmt.Sprintf("the prompt has %d characters, at most %d are taken",
			utf8.RuneCountInString(d.Prompt), mostPrompt), "shorten it")
	case !slices.Contains(channels, d.Channel):
		return d, fault.New(fault.InvalidArgument, fmt.Sprintf("there is no channel %q", d.Channel),
			"use one of "+strings.Join(channels, ", "))
	case d.Overlap != OverlapSkip && d.Overlap != OverlapQueue:
		return d, fault.New(fault.InvalidArgument, fmt.Sprintf("overlap is %q", d.Overlap), "use skip or queue")
	case d.MaxTurns < 0 || d.MaxTurns > 50:
		return d, fault.New(fault.InvalidArgument, fmt.Sprintf("max_turns is %d", d.MaxTurns),
			"use 1 to 50, or 0 for the channel's budget")
	case d.CatchUp < 0 || d.CatchUp > mostCatchUp:
		return d, fault.New(fault.InvalidArgument, fmt.Sprintf("the catch-up is %s", d.CatchUp), "use at most 168h")
	}
	return d, nil
}
