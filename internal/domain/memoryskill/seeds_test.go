package memoryskill_test

import (
	"strings"
	"testing"

	"cairn/internal/domain/memoryskill"
)

func TestTheShippedBankHasTenSkills(t *testing.T) {
	t.Parallel()
	b, err := memoryskill.ShippedBank(memoryskill.DefaultCapacity)
	if err != nil || b.Len() != 10 {
		t.Fatalf("%d skills, %v", b.Len(), err)
	}
	tokens := 0
	for _, v := range b.Versions() {
		tokens += v.Skill.Tokens()
	}
	if tokens < 500 || tokens > 1500 {
		t.Errorf("all skills together have %d tokens, and the token price is meant for 1,000", tokens)
	}
	if w := memoryskill.LintBank(memoryskill.Seeds()); len(w) > 0 {
		t.Errorf("%+v", w)
	}
}

func TestShippedSkillsHaveAChineseText(t *testing.T) {
	t.Parallel()
	var all []memoryskill.Skill
	for _, s := range memoryskill.Seeds() {
		zh := s.In("zh")
		all = append(all, zh)
		if zh.Name != s.Name || zh.Action != s.Action || zh.Description == s.Description {
			t.Errorf("%s: %+v", s.Name, zh)
		}
		if err := memoryskill.Check(zh); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		for _, text := range append(append(append([]string{zh.Title, zh.Description, zh.Purpose}, zh.WhenToUse...),
			zh.HowToApply...), zh.Constraints...) {
			if strings.ContainsAny(text, "abcdefghijklmnopqrstuvwxyz") {
				t.Errorf("%s: %q", s.Name, text)
			}
		}
		edited := s
		edited.Purpose += " Always."
		if edited.In("zh").Purpose != edited.Purpose || s.In("en").Purpose != s.Purpose {
			t.Errorf("%s: an edited skill has lost its text", s.Name)
		}
	}
	if w := memoryskill.LintBank(all); len(w) > 0 {
		t.Errorf("%+v", w)
	}
}
