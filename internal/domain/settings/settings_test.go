package settings

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"cairn/internal/domain/fault"
)

func TestWhatIsAbsentHasItsDefault(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"", "{}", `{"nudge":{}}`, `{"of_a_later_version":1}`,
		`{"memory":{"skills":{"controller":"thompson"}}}`} {
		if s, err := Read(json.RawMessage(raw)); err != nil || !reflect.DeepEqual(s, Default()) {
			t.Errorf("%q: %+v, %v", raw, s, err)
		}
	}
	s, err := Read(json.RawMessage(`{"nudge":{"on_end":false},"limits":{"core_runes":0}}`))
	if err != nil || s.Nudge.OnEnd || s.Limits.CoreRunes != 0 || s.Nudge.Every != 10 || s.Limits.ProfileRunes != 1375 {
		t.Errorf("%+v, %v: what is chosen must win, also when it is zero", s, err)
	}
}

func TestOnlyWhatDiffersIsWritten(t *testing.T) {
	t.Parallel()
	s := Default()
	s.Limits.CoreRunes, s.Nudge.OnEnd, s.TokensPerDay = 4000, false, math.MaxInt64-1
	raw, err := Write(s)
	if want :=
		`{"limits":{"core_runes":4000},"nudge":{"on_end":false},"tokens_per_day":9223372036854775806}`; err != nil ||
		string(raw) != want {
		t.Errorf("%s, %v; want %s", raw, err, want)
	}
	if back, err := Read(raw); err != nil || !reflect.DeepEqual(back, s) {
		t.Errorf("read back as %+v, %v", back, err)
	}
	if raw, err := Write(Default()); err != nil || string(raw) != "{}" {
		t.Errorf("the defaults are written as %s, %v", raw, err)
	}
}

func TestAGateHoldsBackTheWritesItNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		gate                  Gate
		person, agent, unseen bool
	}{{GateOff, false, false, false}, {"", false, false, false}, {GateAutonomous, false, false, true},
		{GateAll, false, true, true}, {"of a later version", false, true, true}} {
		if c.gate.Stages(true, false) != c.person || c.gate.Stages(false, false) != c.agent ||
			c.gate.Stages(false, true) != c.unseen {
			t.Errorf("gate %q", c.gate)
		}
	}
}

func TestSettingsThatCannotBeMeantAreRefused(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(*Settings){
		"a gate":         func(s *Settings) { s.WriteApproval.Memory = "sometimes" },
		"a limit":        func(s *Settings) { s.Limits.CoreRunes = -1 },
		"one quiet hour": func(s *Settings) { s.QuietHours.From = "22:00" },
		"a quiet time":   func(s *Settings) { s.QuietHours = QuietHours{"22h", "7h"} },
		"a time zone":    func(s *Settings) { s.TimeZone = "Mars/Olympus" },
		"a local zone":   func(s *Settings) { s.TimeZone = "Local" },
	} {
		s := Default()
		if change(&s); fault.CodeOf(s.Validate()) != fault.InvalidArgument {
			t.Errorf("%s: %v", what, s.Validate())
		}
	}
	s := Default()
	s.QuietHours, s.TimeZone = QuietHours{"22:00", "07:00"}, "Asia/Shanghai"
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
}
