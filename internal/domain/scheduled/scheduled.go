package scheduled

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

// Verdict is the result of the claim for a due task.
type Verdict string

const (
	Again    Verdict = "again"     // an earlier page has claimed the slot, and its lease expired
	Unknown  Verdict = "plan"      // the task has no planned firing yet
	Idle     Verdict = "empty"     // nothing to do
	Repeated Verdict = "collapsed" // the date already has a reflection
	Off      Verdict = "off"       // disabled in the workspace
	Recalled Verdict = "recalled"  // as Again, and disabled since
	Ready    Verdict = "start"
)

// Due is a due task as read by the claim.
type Due struct {
	Workspace    int64
	WorkspaceKey string
	Task         int64
	Kind         Kind
	Cron, Zone   string
	CatchUp      time.Duration
	Next         Firing    // the due firing
	Held         Firing    // with Again and Recalled
	ReflectedTo  time.Time // end of the last reflection, zero without one
	Quiet        QuietHours
	EmptyWeek    bool // with Idle: a week of empty days in spite of messages
	Verdict      Verdict
	Now          time.Time // database clock
}

// QuietHours are the quiet hours and the time zone of the workspace. The zone of a task may differ.
type QuietHours struct{ From, To, Zone string }

// Firing is one time at which a task is due.
type Firing struct {
	At    time.Time
	Date  string // local date of the scheduled time
	Key   string
	Start time.Time // when the sweep starts it; set for the next firing of an Advance
}

// Advance is the change that the claim makes to a task: its next firing and the due slot. There is
// no slot if the task was only planned or its slot deferred.
type Advance struct {
	Due     Due
	Next    Firing
	Slot    Firing
	Outcome string // empty if the slot is to be started
	Reason  string
}

// Start reports whether the slot is held until it is started.
func (m Advance) Start() bool { return m.Slot.Key != "" && m.Outcome == "" }

// NextAfter returns the first firing of a schedule after an instant.
func NextAfter(s recurrence.Schedule, after time.Time) Firing {
	at, date := s.Next(after)
	return Firing{At: at, Date: date.String(), Key: s.Key(at, date)}
}

// Wanted returns an error if the task is disabled in the settings.
func (t Task) Wanted() error {
	if t.Off {
		return fault.New(fault.TurnedOff, fmt.Sprintf("%s is disabled in the settings of the workspace", t.Name),
			"enable it with `cairn settings set reflection=true`")
	}
	return nil
}

// ClaimedFiring is a firing that a page has claimed and that is to be started.
type ClaimedFiring struct {
	Workspace    int64
	WorkspaceKey string
	Task         int64
	Kind         Kind
	Zone         string
	Firing
	ReflectedTo time.Time // end of the last reflection, zero without one
	Why         string    // reason, for example contract.ReflectionOfSweep
}

// ClaimResult is the result of a claim.
type ClaimResult struct {
	Looked, Taken, Empty, Skipped int
	More                          bool
	Slots                         []ClaimedFiring // claimed and not settled yet
	EmptyWeek                     []int64         // workspaces with a week of empty days in spite of messages
}

// DispatchResult is the result of a slot.
type DispatchResult struct {
	Slot    ClaimedFiring
	Outcome string
	Reason  string
}

// Kind is the kind of work that a task starts.
type Kind string

const (
	Reflection Kind = "reflection"
	Curate     Kind = "curate"
	Evolution  Kind = "evolution"
	Turn       Kind = "turn"
)

// Outcomes of a firing.
const (
	Empty = "empty" // nothing to do
)

// Overlap modes for a previous turn without a reply.
const (
	OverlapSkip  = "skip"
	OverlapQueue = "queue"
)

// Task is a recurring task.
type Task struct {
	ID       int64         `json:"id"`
	Name     string        `json:"name"`
	Kind     Kind          `json:"kind"`
	Cron     string        `json:"cron"`
	Zone     string        `json:"time_zone" doc:"IANA time zone"`
	Zoned    bool          `json:"own_time_zone" doc:"True if the task has its own time zone; otherwise it uses the workspace's"`
	Prompt   string        `json:"prompt,omitempty"`
	Channel  string        `json:"channel"`
	MaxTurns int           `json:"max_turns,omitempty" doc:"Maximum number of model calls; 0 uses the budget of the channel"`
	CatchUp  time.Duration `json:"-"`
	Overlap  string        `json:"overlap"`
	To       string        `json:"deliver_to,omitempty" doc:"Chat that gets the replies, as account/chat; empty: the home chat"`
	PausedAt *time.Time    `json:"paused_at,omitempty"`
	DueAt    *time.Time    `json:"due_at,omitempty" doc:"Next firing; absent until the sweep has planned a new task"`
	DueDate  string        `json:"due_date,omitempty" doc:"Local date of the next firing"`
	StartsAt *time.Time    `json:"starts_at,omitempty" doc:"Earliest start of the next firing: after the quiet hours and, for built-in tasks, with the delay from CAIRN_SWEEP_JITTER"`
	Off      bool          `json:"off" doc:"Disabled by the setting reflection"`
	Last     *FiringRecord `json:"last,omitempty"`
	Created  time.Time     `json:"created_at"`

	Now          time.Time  `json:"-"` // database clock when the task was read
	WorkspaceKey string     `json:"-"`
	Quiet        QuietHours `json:"-"`
}

// FiringRecord is a firing and its outcome.
type FiringRecord struct {
	At      time.Time `json:"at"`
	Date    string    `json:"local_date"`
	Key     string    `json:"key"`
	Outcome string    `json:"outcome" doc:"started, empty, collapsed, skipped or failed; absent while it is in progress"`
	Reason  string    `json:"reason,omitempty"`
}

// Conversation returns the name of the conversation of the task's prompts.
func (t Task) Conversation() string { return fmt.Sprintf("schedule/%s/%d", t.Name, t.ID) }

// Cadence returns the parsed schedule of the task.
func (t Task) Cadence() (recurrence.Schedule, error) { return recurrence.Parse(t.Cron, t.Zone) }

// Draft is a task to create.
type Draft struct {
	Name     string
	Cron     string
	Zone     string // empty uses the workspace's
	Prompt   string
	Channel  string        // empty uses scheduled
	MaxTurns int           // 1–50; 0 uses the budget of the channel
	CatchUp  time.Duration // 0 means 12 h; at most 7 days
	Overlap  string        // empty uses skip
	To       string        // chat that gets the replies, as account/chat or account/chat/thread; empty: the home chat
}

const (
	defaultCatchUp = 12 * time.Hour
	maxCatchUp     = 7 * 24 * time.Hour
	maxPrompt      = 32_000 // runes, same as for a message
)

var (
	names    = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	channels = []string{"voice", "sms", "chat", "scheduled"}
)

// Settle sets defaults and validates the draft.
func (d Draft) Settle() (Draft, error) {
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
		return d, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid task name %q", d.Name),
			"use lower-case words and digits joined by hyphens, at most 64 characters, for example morning-report")
	case strings.TrimSpace(d.Prompt) == "":
		return d, fault.New(fault.InvalidArgument, "empty prompt", "set the prompt that each firing sends")
	case utf8.RuneCountInString(d.Prompt) > maxPrompt:
		return d, fault.New(fault.TooLarge, fmt.Sprintf("prompt has %d characters, the limit is %d",
			utf8.RuneCountInString(d.Prompt), maxPrompt), "shorten the prompt")
	case !slices.Contains(channels, d.Channel):
		return d, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid channel %q", d.Channel),
			"use one of "+strings.Join(channels, ", "))
	case d.Overlap != OverlapSkip && d.Overlap != OverlapQueue:
		return d, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid overlap %q", d.Overlap), "use skip or queue")
	case d.MaxTurns < 0 || d.MaxTurns > 50:
		return d, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid max_turns %d", d.MaxTurns),
			"use 1 to 50, or 0 for the budget of the channel")
	case d.CatchUp < 0 || d.CatchUp > maxCatchUp:
		return d, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid catch-up %s", d.CatchUp), "use at most 168h")
	}
	return d, nil
}
