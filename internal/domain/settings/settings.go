// Package settings is what a workspace may choose for itself: one JSON document
// in its row, of which it holds only what differs from the defaults.
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

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/nudge"
	"cairn/internal/domain/recurrence"
)

// Settings of a workspace.
type Settings struct {
	TokensPerDay  int64         `json:"tokens_per_day"` // 0 means no limit
	MicrosPerDay  int64         `json:"micros_per_day"` // micro-dollars, 0 means no limit
	WriteApproval WriteApproval `json:"write_approval"`
	Nudge         Nudge         `json:"nudge"`
	Limits        Limits        `json:"limits"`
	Reflection    bool          `json:"reflection"` // whether days are looked back on
	QuietHours    QuietHours    `json:"quiet_hours"`
	Agent         string        `json:"agent"` // who answers turns: empty for the usual agent, or remy
	Tools         Toolsets      `json:"tools"`
	Memory        LongTerm      `json:"memory"`
	Curation      Curation      `json:"curation"`

	// ScheduledCheckpoint has turns on the channel scheduled be told once, at three
	// quarters of their model calls, how many are left. Models give up early when
	// they are told more often, or with somebody waiting.
	ScheduledCheckpoint bool `json:"scheduled_checkpoint"`

	TimeZone string `json:"-"` // IANA name; a column of its own

	// ReflectionCron is when the day is reflected on, once each local date; a
	// column of its own.
	ReflectionCron string `json:"-"`
}

// Toolsets are what conversations may use beside the usual tools.
type Toolsets struct {
	Skills bool `json:"skills"` // skills step by step: what there is, how it is done, its files
	Shell  bool `json:"shell"`  // commands of a skill, where the deployment has sandboxed workers
}

// Chosen lists the groups, sorted.
func (t Toolsets) Chosen() (out []agent.ToolSet) {
	if t.Shell {
		out = append(out, agent.SetShell)
	}
	if t.Skills {
		out = append(out, agent.SetSkills)
	}
	return out
}

// WriteApproval says whose writes wait for a person.
type WriteApproval struct {
	Memory Gate `json:"memory"`
	Skills Gate `json:"skills"` // autonomous is about changes of existing skills: making one waits only with all
}

// Nudge is when a conversation is reviewed in the background.
type Nudge = nudge.Settings

// MostUndoDays bounds how long what was deleted is kept.
const MostUndoDays = 365

// Limits bound what a workspace keeps and how fast it is written.
type Limits struct {
	ActiveSkills              int `json:"active_skills"`
	SkillWritesHour           int `json:"skill_writes_hour"`
	AutonomousSkillWritesHour int `json:"autonomous_skill_writes_hour"`
	CoreRunes                 int `json:"core_runes"`
	ProfileRunes              int `json:"profile_runes"`
	// in which a deleted skill or memory can be taken back; 0 keeps nothing
	UndoDays int `json:"undo_days"`
}

// Curation is when skills that nobody watches over go out of use.
type Curation struct {
	StaleDays   int     `json:"stale_days"`   // without use, after which a skill is the last in prompts
	ArchiveDays int     `json:"archive_days"` // without use, after which it is out of use
	Floor       float64 `json:"floor"`        // of reliability, 0–1: below it a skill is archived
	MinTrials   int     `json:"min_trials"`   // before reliability counts
}

func (c Curation) validate() error {
	switch {
	case c.StaleDays < 1 || c.ArchiveDays <= c.StaleDays:
		return fault.New(fault.InvalidArgument,
			fmt.Sprintf("curation has stale_days %d and archive_days %d", c.StaleDays, c.ArchiveDays),
			"use at least 1 for stale_days, and more for archive_days")
	case c.Floor < 0 || c.Floor > 1 || c.MinTrials < 1:
		return fault.New(fault.InvalidArgument,
			fmt.Sprintf("curation has floor %g and min_trials %d", c.Floor, c.MinTrials),
			"use 0 to 1 for floor, and at least 1 for min_trials")
	}
	return nil
}

// QuietHours are a time of day, in the workspace's time zone, in which nothing
// that is scheduled starts: it is put off to their end. Empty for none; From after
// To goes over midnight.
type QuietHours struct {
	From string `json:"from"` // 15:04
	To   string `json:"to"`
}

// Quiet are the quiet hours on the workspace's clock.
func (s Settings) Quiet() (recurrence.Quiet, error) {
	return recurrence.ParseQuiet(s.QuietHours.From, s.QuietHours.To, cmp.Or(s.TimeZone, "UTC"))
}

// Default is what a workspace has that chose nothing.
func Default() Settings {
	return Settings{
		WriteApproval: WriteApproval{Memory: GateOff, Skills: GateAutonomous},
		Nudge:         nudge.Default(),
		Reflection:    true,
		Limits: Limits{ActiveSkills: 300, SkillWritesHour: 30, AutonomousSkillWritesHour: 6, CoreRunes: 2200,
			ProfileRunes: 1375, UndoDays: 7},
		Memory: LongTerm{Builder: BuilderAgents, IdleMinutes: 30,
			Learning: Learning{ExplorePerDay: 20, CanaryPercent: 10}},
		Curation: Curation{StaleDays: 30, ArchiveDays: 90, Floor: 0.2, MinTrials: 5},
		TimeZone: "UTC",

		ReflectionCron: recurrence.Daily,
	}
}

// Read decodes a stored document. Members that are absent have their defaults;
// members that this program does not know are left out.
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

// Write encodes what differs from the defaults, so that a default that changes
// later changes for everybody who did not choose.
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
	d.UseNumber() // a limit is a whole number of any size
	err = d.Decode(&out)
	return out, err
}

// difference is the members of chosen that usual does not have alike.
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

// Validate names the member that cannot be meant.
func (s Settings) Validate() error {
	for name, n := range map[string]int64{"tokens_per_day": s.TokensPerDay, "micros_per_day": s.MicrosPerDay,
		"nudge.every": int64(s.Nudge.Every), "nudge.tool_iters": int64(s.Nudge.ToolIters),
		"nudge.daily_cap": int64(s.Nudge.DailyCap), "limits.active_skills": int64(s.Limits.ActiveSkills),
		"limits.skill_writes_hour":            int64(s.Limits.SkillWritesHour),
		"limits.autonomous_skill_writes_hour": int64(s.Limits.AutonomousSkillWritesHour),
		"limits.core_runes":                   int64(s.Limits.CoreRunes),
		"limits.profile_runes":                int64(s.Limits.ProfileRunes)} {
		if n < 0 {
			return fault.Newf(fault.InvalidArgument, "%s is %d, and cannot be below 0", name, n)
		}
	}
	if d := s.Limits.UndoDays; d < 0 || d > MostUndoDays {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("limits.undo_days is %d", d),
			fmt.Sprintf("use 1 to %d days, or 0 to keep nothing that is deleted", MostUndoDays))
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
	if err := s.Curation.validate(); err != nil {
		return err
	}
	if s.Agent != "" && s.Agent != Remy {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("agent is %q", s.Agent), "leave it empty, or use "+Remy)
	}
	return s.validateClock()
}

// validateClock looks at what may be empty, to leave what is stored.
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
			fmt.Sprintf("reflection_cron is %q, which may be due more than once on one date", s.ReflectionCron),
			"a day is reflected on once: give one time of day, such as "+recurrence.Daily)
	}
	return err
}
