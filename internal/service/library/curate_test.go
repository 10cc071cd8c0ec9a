package library

import (
	"testing"
	"time"

	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/skill"
)

func TestTheRulesOfCuration(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		skill readmodel.CuratedSkill
		want  CuratorAction
	}{
		"used lately": {readmodel.CuratedSkill{Status: skill.Active, Unused: 29 * day,
			Unchanged: 80 * day}, ""},
		"unused": {readmodel.CuratedSkill{Status: skill.Active, Unused: 30 * day,
			Unchanged: 30 * day}, Stale},
		"unused, and lately restored": {readmodel.CuratedSkill{Status: skill.Active, Unused: 200 * day,
			Unchanged: 3 * day}, ""},
		"stale": {readmodel.CuratedSkill{Status: skill.Stale, Unused: 89 * day,
			Unchanged: 60 * day}, ""},
		"stale for long": {readmodel.CuratedSkill{Status: skill.Stale, Unused: 90 * day,
			Unchanged: 60 * day}, Archive},
		"stale since a restored skill": {readmodel.CuratedSkill{Status: skill.Stale, Unused: 240 * day,
			Unchanged: 10 * day}, ""},
		"stale and used": {readmodel.CuratedSkill{Status: skill.Stale, Unused: day, Unchanged: 10 * day},
			Restore},
		"unreliable": {readmodel.CuratedSkill{Status: skill.Active, Eta: 0.19, Trials: 5, Unused: day,
			Unchanged: 8 * day}, Archive},
		"unreliable, hardly tried": {readmodel.CuratedSkill{Status: skill.Active, Eta: 0.1, Trials: 4, Unused: day,
			Unchanged: 8 * day}, ""},
		"unreliable, restored yesterday": {readmodel.CuratedSkill{Status: skill.Active, Eta: 0.1, Trials: 9,
			Unused:    day,
			Unchanged: day}, ""},
		"reliable enough": {readmodel.CuratedSkill{Status: skill.Active, Eta: 0.2, Trials: 50, Unused: day,
			Unchanged: 80 * day}, ""},
	} {
		got, due := Decide(c.skill, settings.Default().Curation)
		if due != (c.want != "") || got.Action != c.want || due && got.Reason == "" {
			t.Errorf("%s: %+v, want %q", name, got, c.want)
		}
	}
}
