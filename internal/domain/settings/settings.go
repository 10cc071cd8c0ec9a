// Package settings holds the settings of a workspace: one JSON document in the workspace's row,
// which stores only the members that differ from the defaults.
//
//	s, err := settings.Read(row)      // absent members have their defaults
//	s.Limits.CoreRunes = 4000
//	row, err = settings.Write(s)      // {"limits":{"core_runes":4000}}
package settings

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"unicode/utf8"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/nudge"
	"cairn/internal/domain/recurrence"
	"cairn/internal/domain/search"
)

// Settings are all settings of a workspace.
type Settings struct {
	// TokensPerDay limits the tokens of all model calls in a UTC day. The default is 0, no limit.
	TokensPerDay int64 `json:"tokens_per_day"`
	// MicrosPerDay limits the cost of all model calls in a UTC day, in micro-dollars (1000000 is 1 $),
	// or is "unlimited". Calls to a model without a known price are not counted; TokensPerDay counts
	// them. The default is 5000000; 0 allows no call that costs anything.
	MicrosPerDay Spend `json:"micros_per_day"`
	// WriteApproval selects the writes that need approval.
	WriteApproval WriteApproval `json:"write_approval"`
	Nudge         Nudge         `json:"nudge"`
	Limits        Limits        `json:"limits"`
	// Reflection turns the daily reflection on. The default is true.
	Reflection bool `json:"reflection"`
	// RedactTurns replaces secrets in messages, their history and tool results with placeholders before
	// a turn's request is stored or sent to the model. The default is true.
	RedactTurns bool `json:"redact_turns"`
	// QuietHours is the daily period in which scheduled tasks do not start. The default is none.
	QuietHours QuietHours `json:"quiet_hours"`
	// Agent is the agent that replies to turns: empty, the default, for the standard agent, or
	// remy.
	Agent    string   `json:"agent"`
	Tools    Toolsets `json:"tools"`
	API      API      `json:"api"`
	Memory   LongTerm `json:"memory"`
	Curation Curation `json:"curation"`
	// Search overrides the parameters of searches. The default is the profile of the deployment.
	Search search.Profile `json:"search"`
	Mem0   Mem0           `json:"mem0"`

	// ScheduledCheckpoint makes a turn on the channel scheduled state the remaining model calls to
	// its model once, when three quarters of the budget are used. Models stop early if they are
	// reminded more often, or if a person is waiting. The default is false.
	ScheduledCheckpoint bool `json:"scheduled_checkpoint"`

	TimeZone string `json:"-"` // IANA name; stored in its own column, the default is UTC

	// ReflectionCron is the schedule of the daily reflection, which fires once on each local date.
	// It is stored in its own column.
	ReflectionCron string `json:"-"`
}

// API configures the OpenAI-compatible API.
type API struct {
	// CancelOnDisconnect cancels a turn whose client has disconnected and does not send the request again
	// within 5 seconds. The text that was sent becomes the reply. The default is true.
	CancelOnDisconnect bool `json:"cancel_on_disconnect"`
}

// Mem0 is the project that mem0's clients see. It applies to memories that are added over mem0's routes.
type Mem0 struct {
	// Name is the name of the project, at most 200 characters. Empty, the default, means the name of the
	// workspace.
	Name string `json:"name"`
	// CustomInstructions say what to remember, in at most 4000 characters. The default is none.
	CustomInstructions string `json:"custom_instructions"`
	// AgentCustomInstructions replace CustomInstructions for memories of agents. The default is none.
	AgentCustomInstructions string `json:"agent_custom_instructions"`
	// CustomCategories are the categories that memories can have, at most 50, each with a name and a
	// description. The default is none.
	CustomCategories []agent.Category `json:"custom_categories"`
}

// Limits of Mem0, in characters.
const (
	maxProjectName  = 200
	maxInstructions = 4000
	maxCategories   = 50
	maxCategoryName = 100
	maxCategoryText = 500
)

func (m Mem0) validate() error {
	for name, v := range map[string]struct {
		text string
		most int
	}{"name": {m.Name, maxProjectName}, "custom_instructions": {m.CustomInstructions, maxInstructions},
		"agent_custom_instructions": {m.AgentCustomInstructions, maxInstructions}} {
		if n := utf8.RuneCountInString(v.text); n > v.most {
			return fault.New(fault.InvalidArgument, fmt.Sprintf("mem0.%s has %d characters", name, n),
				fmt.Sprintf("use at most %d characters", v.most))
		}
	}
	return CheckCategories("mem0.custom_categories", m.CustomCategories)
}

// CheckCategories checks a list of categories, which what names.
func CheckCategories(what string, all []agent.Category) error {
	if len(all) > maxCategories {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("%s has %d categories", what, len(all)),
			fmt.Sprintf("use at most %d categories", maxCategories))
	}
	seen := map[string]bool{}
	for _, c := range all {
		if c.Name == "" || utf8.RuneCountInString(c.Name) > maxCategoryName ||
			utf8.RuneCountInString(c.Description) > maxCategoryText || seen[c.Name] {
			return fault.New(fault.InvalidArgument, fmt.Sprintf("%s has an invalid category %.40q", what, c.Name),
				fmt.Sprintf("use different names of 1 to %d characters, and descriptions of at most %d",
					maxCategoryName, maxCategoryText))
		}
		seen[c.Name] = true
	}
	return nil
}

// Toolsets selects the tools that conversations have in addition to the standard tools. Both are
// off by default.
type Toolsets struct {
	Skills bool `json:"skills"` // list, view and read skills and their files
	Shell  bool `json:"shell"`  // run commands of skills, if the deployment has sandboxed workers
}

// Chosen returns the selected tool sets, sorted.
func (t Toolsets) Chosen() (out []agent.ToolSet) {
	if t.Shell {
		out = append(out, agent.SetShell)
	}
	if t.Skills {
		out = append(out, agent.SetSkills)
	}
	return out
}

// WriteApproval selects the writes that need approval: off, autonomous or all.
type WriteApproval struct {
	Memory Gate `json:"memory"` // default off
	// Skills is autonomous by default. With autonomous, changes of existing skills by background
	// runs need approval; new skills need it only with all.
	Skills Gate `json:"skills"`
}

// Nudge configures the background reviews of conversations.
type Nudge = nudge.Settings

// MaxUndoDays is the upper bound of Limits.UndoDays, in days.
const MaxUndoDays = 365

// Limits bounds what a workspace stores and how fast it changes. Each member is 0 or more.
type Limits struct {
	// ActiveSkills is the number of active skills. The default is 300.
	ActiveSkills int `json:"active_skills"`
	// SkillWritesHour is the number of skill writes in one hour. The default is 30.
	SkillWritesHour int `json:"skill_writes_hour"`
	// AutonomousSkillWritesHour is the number of skill writes of background runs in one hour. The
	// default is 6.
	AutonomousSkillWritesHour int `json:"autonomous_skill_writes_hour"`
	// CoreRunes is the size of the core memory in characters. The default is 2200.
	CoreRunes int `json:"core_runes"`
	// ProfileRunes is the size of the profile memory in characters. The default is 1375.
	ProfileRunes int `json:"profile_runes"`
	// UndoDays is the number of days, 0 to 365, in which a deleted skill or memory can be restored.
	// The default is 7; 0 deletes at once.
	UndoDays int `json:"undo_days"`
}

// Curation configures when unused or unreliable skills are archived.
type Curation struct {
	// StaleDays is the number of days without use, from 1, after which a skill is listed last in
	// prompts. The default is 30.
	StaleDays int `json:"stale_days"`
	// ArchiveDays is the number of days without use after which a skill is archived. It must exceed
	// StaleDays; the default is 90.
	ArchiveDays int `json:"archive_days"`
	// Floor is the reliability, 0 to 1, below which a skill is archived. The default is 0.2.
	Floor float64 `json:"floor"`
	// MinTrials is the number of uses, from 1, before Floor applies to a skill. The default is 5.
	MinTrials int `json:"min_trials"`
}

func (c Curation) validate() error {
	switch {
	case c.StaleDays < 1 || c.ArchiveDays <= c.StaleDays || c.ArchiveDays > maxCount:
		return fault.New(fault.InvalidArgument,
			fmt.Sprintf("curation has stale_days %d and archive_days %d", c.StaleDays, c.ArchiveDays),
			fmt.Sprintf("use at least 1 for stale_days, and more for archive_days, up to %d", maxCount))
	case !(c.Floor >= 0 && c.Floor <= 1) || c.MinTrials < 1 || c.MinTrials > maxCount:
		return fault.New(fault.InvalidArgument,
			fmt.Sprintf("curation has floor %g and min_trials %d", c.Floor, c.MinTrials),
			fmt.Sprintf("use 0 to 1 for floor, and 1 to %d for min_trials", maxCount))
	}
	return nil
}

// QuietHours is a daily period in the workspace's time zone in which scheduled tasks do not start.
// Their start is postponed to its end. Both members are empty, the default, for no quiet hours. If
// From is after To, the period spans midnight.
type QuietHours struct {
	From string `json:"from"` // 15:04
	To   string `json:"to"`   // 15:04
}

// Quiet returns the quiet hours in the workspace's time zone.
func (s Settings) Quiet() (recurrence.Quiet, error) {
	return recurrence.ParseQuiet(s.QuietHours.From, s.QuietHours.To, cmp.Or(s.TimeZone, "UTC"))
}

// Default returns the settings of a workspace that has changed none.
func Default() Settings {
	return Settings{
		MicrosPerDay:  DefaultSpend,
		WriteApproval: WriteApproval{Memory: GateOff, Skills: GateAutonomous},
		Nudge:         nudge.Default(),
		Reflection:    true,
		RedactTurns:   true,
		Limits: Limits{ActiveSkills: 300, SkillWritesHour: 30, AutonomousSkillWritesHour: 6, CoreRunes: 2200,
			ProfileRunes: 1375, UndoDays: 7},
		Memory: LongTerm{Builder: BuilderAgents, IdleMinutes: 30, Add: AddAuto, AddTokens: DefaultAddTokens,
			OpenAdds: DefaultOpenAdds,
			Skills:   MemorySkills{K: DefaultK},
			Learning: Learning{ExplorePerDay: 20, CanaryPercent: 10}},
		API:      API{CancelOnDisconnect: true},
		Curation: Curation{StaleDays: 30, ArchiveDays: 90, Floor: 0.2, MinTrials: 5},
		TimeZone: "UTC",

		ReflectionCron: recurrence.Daily,
	}
}

// Read decodes a stored document. Absent members have their defaults. Unknown members are ignored.
func Read(raw json.RawMessage) (Settings, error) {
	s := Default()
	if len(bytes.TrimSpace(raw)) == 0 {
		return s, nil
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return Settings{}, fmt.Errorf("decode the settings: %w", err)
	}
	return s, nil
}

// Write encodes the members that differ from the defaults, so that a changed default applies to
// every workspace that has not set the member.
func Write(s Settings) (json.RawMessage, error) {
	chosen, err := document(s)
	if err != nil {
		return nil, err
	}
	usual, err := document(Default())
	if err != nil {
		return nil, err
	}
	return json.Marshal(difference(chosen, usual))
}

func document(s Settings) (out map[string]any, err error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode the settings: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // a limit may exceed the range of float64 integers
	err = d.Decode(&out)
	return out, err
}

// difference returns the members of chosen that differ from usual.
func difference(chosen, usual map[string]any) map[string]any {
	out := map[string]any{}
	for name, v := range chosen {
		inner, nested := v.(map[string]any)
		if !nested {
			if !reflect.DeepEqual(v, usual[name]) {
				out[name] = v
			}
			continue
		}
		usualInner, _ := usual[name].(map[string]any)
		if d := difference(inner, usualInner); len(d) > 0 {
			out[name] = d
		}
	}
	return out
}

// maxCount is the maximum of settings that count turns, entries, characters or writes.
const maxCount = 1_000_000

// Validate returns fault.InvalidArgument with the name of the first invalid member.
func (s Settings) Validate() error {
	if s.TokensPerDay < 0 {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("tokens_per_day is %d, must be 0 or more", s.TokensPerDay),
			"0 means no limit")
	}
	if s.MicrosPerDay < Unlimited || s.MicrosPerDay > MaxSpend {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("micros_per_day is %d", int64(s.MicrosPerDay)),
			fmt.Sprintf("use 0 to %d micro-dollars, or %s", int64(MaxSpend), unlimited))
	}
	for name, n := range map[string]int{"nudge.every": s.Nudge.Every, "nudge.tool_iters": s.Nudge.ToolIters,
		"nudge.daily_cap": s.Nudge.DailyCap, "limits.active_skills": s.Limits.ActiveSkills,
		"limits.skill_writes_hour":            s.Limits.SkillWritesHour,
		"limits.autonomous_skill_writes_hour": s.Limits.AutonomousSkillWritesHour,
		"limits.core_runes":                   s.Limits.CoreRunes,
		"limits.profile_runes":                s.Limits.ProfileRunes} {
		if n < 0 || n > maxCount {
			return fault.New(fault.InvalidArgument, fmt.Sprintf("%s is %d, must be 0 to %d", name, n, maxCount),
				"`cairn settings set "+name+"=default` restores the default")
		}
	}
	if d := s.Limits.UndoDays; d < 0 || d > MaxUndoDays {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("limits.undo_days is %d", d),
			fmt.Sprintf("use 1 to %d days, or 0 to delete at once", MaxUndoDays))
	}
	for name, g := range map[string]Gate{"memory": s.WriteApproval.Memory, "skills": s.WriteApproval.Skills} {
		if !g.known() {
			return fault.New(fault.InvalidArgument, fmt.Sprintf("write_approval.%s is %q", name, g),
				"use off, autonomous or all")
		}
	}
	if err := s.Memory.validate(); err != nil {
		return err
	}
	if err := cmp.Or(s.Curation.validate(), s.Search.Validate(), s.Mem0.validate()); err != nil {
		return err
	}
	if s.Agent != "" && s.Agent != Remy {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("agent is %q", s.Agent), "leave it empty, or use "+Remy)
	}
	return s.validateClock()
}

// validateClock checks the time zone, the quiet hours and the schedule. An empty value is valid; it
// keeps the stored one.
func (s Settings) validateClock() error {
	zone := s.TimeZone
	if zone == "" {
		zone = Default().TimeZone
	} else if _, err := recurrence.Zone(zone); err != nil {
		return err
	}
	if _, err := s.Quiet(); err != nil || s.ReflectionCron == "" {
		return err
	}
	c, err := recurrence.Parse(s.ReflectionCron, zone)
	if err == nil && !c.OncePerDate() {
		err = fault.New(fault.InvalidArgument,
			fmt.Sprintf("reflection_cron %q can fire more than once on one date", s.ReflectionCron),
			"use one time of day, such as "+recurrence.Daily)
	}
	return err
}
