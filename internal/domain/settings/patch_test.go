package settings

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
)

func TestAPatchChangesWhatItNames(t *testing.T) {
	t.Parallel()
	s := Default()
	s.TimeZone, s.Limits.CoreRunes, s.Nudge.DailyCap = "Asia/Tokyo", 4000, 3
	for patch, want := range map[string]func(*Settings){
		`{}`:                                  func(*Settings) {},
		`{"nudge":{"every":5}}`:               func(s *Settings) { s.Nudge.Every = 5 },
		`{"nudge":{"on_end":false}}`:          func(s *Settings) { s.Nudge.OnEnd = false },
		`{"nudge":null}`:                      func(s *Settings) { s.Nudge = Default().Nudge },
		`{"limits":{"undo_days":0}}`:          func(s *Settings) { s.Limits.UndoDays = 0 },
		`{"limits":{"core_runes":null}}`:      func(s *Settings) { s.Limits.CoreRunes = 2200 },
		`{"time_zone":"Europe/Paris"}`:        func(s *Settings) { s.TimeZone = "Europe/Paris" },
		`{"time_zone":null}`:                  func(s *Settings) { s.TimeZone = "UTC" },
		`{"tokens_per_day":9007199254740993}`: func(s *Settings) { s.TokensPerDay = 9007199254740993 },
		`{"micros_per_day":"unlimited"}`:      func(s *Settings) { s.MicrosPerDay = Unlimited },
		`{"micros_per_day":0}`:                func(s *Settings) { s.MicrosPerDay = 0 },
		`{"micros_per_day":1000000000000}`:    func(s *Settings) { s.MicrosPerDay = MaxSpend },
		`{"micros_per_day":null}`:             func(s *Settings) { s.MicrosPerDay = DefaultSpend },
		`{"write_approval":{"memory":"all"}}`: func(s *Settings) { s.WriteApproval.Memory = GateAll },
		`{"quiet_hours":{"from":"22:00","to":"07:00"}}`: func(s *Settings) {
			s.QuietHours = QuietHours{"22:00", "07:00"}
		},
	} {
		expected := s
		want(&expected)
		if got, err := Patch(s, json.RawMessage(patch)); err != nil || !reflect.DeepEqual(got, expected) {
			t.Errorf("%s: %+v, %v", patch, got, err)
		}
	}
}

func TestAPatchThatCannotBeMeantIsRefused(t *testing.T) {
	t.Parallel()
	for _, patch := range []string{``, `null`, `[]`, `{"nudges":{}}`, `{"nudge":{"each":5}}`, `{"nudge":5}`,
		`{"nudge":{"every":-1}}`, `{"nudge":{"every":"five"}}`, `{"limits":{"undo_days":-1}}`,
		`{"limits":{"undo_days":366}}`, `{"limits":{"undo_days":1.5}}`, `{"limits":{"undo_days":"a week"}}`,
		`{"write_approval":{"memory":"sometimes"}}`, `{"micros_per_day":-1}`, `{"micros_per_day":1000000000001}`,
		`{"micros_per_day":"5000000"}`, `{"micros_per_day":"Unlimited"}`, `{"micros_per_day":1.5}`,
		`{"micros_per_day":1e999}`, `{"micros_per_day":"NaN"}`, `{"micros_per_day":{}}`, `{"micros_per_day":[]}`,
		`{"time_zone":"Mars/Olympus"}`, `{"quiet_hours":{"from":"22:00"}}`} {
		if got, err := Patch(Default(), json.RawMessage(patch)); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%s: %+v, %v", patch, got, err)
		}
	}
}

func TestAPatchIsRefusedInTermsOfItsSettings(t *testing.T) {
	t.Parallel()
	for patch, want := range map[string][2]string{
		`{"Nudge":{"every":5}}`:             {`unknown setting "Nudge"`, "write nudge"},
		`{"nudge":{"EVERY":5}}`:             {`unknown setting "nudge.EVERY"`, "write nudge.every"},
		`{"nudge":{"evry":5}}`:              {`unknown setting "nudge.evry"`, "every"},
		`{"nudgee":5}`:                      {`unknown setting "nudgee"`, "nudge"},
		`{"Settings":{"agent":"x"}}`:        {`unknown setting "Settings"`, "agent"},
		`{"nudge":5}`:                       {"nudge is a group of settings", "such as nudge."},
		`{"nudge":{"every":"abc"}}`:         {`nudge.every is "abc", must be a whole number`, "settings.md"},
		`{"nudge":{"every":2.5}}`:           {"nudge.every is 2.5, must be a whole number", "settings.md"},
		`{"nudge":{"off":"yes"}}`:           {`nudge.off is "yes", must be true or false`, "settings.md"},
		`{"search":{"w_vector":"much"}}`:    {`search.w_vector is "much", must be a number`, "settings.md"},
		`{"time_zone":7}`:                   {"time_zone is 7, must be text", "settings.md"},
		`{"search":{"w_type":{"note":""}}}`: {`search.w_type is {"note":""}, must be an object`, "settings.md"},
		`{"memory":{"skills":{"controller":"ppo"}}}`: {`unknown setting "memory.skills.controller"`,
			"memory.skills has the settings k"},
	} {
		_, err := Patch(Default(), json.RawMessage(patch))
		f := fault.From(err)
		if f == nil || f.Code != fault.InvalidArgument || !strings.Contains(f.Message, want[0]) ||
			!strings.Contains(f.Hint, want[1]) {
			t.Errorf("%s: %v, want %q", patch, f, want)
		}
	}
}
