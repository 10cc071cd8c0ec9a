package prompt_test

import (
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/prompt"
)

func TestAMomentIsToldBeforeTheMessage(t *testing.T) {
	t.Parallel()
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	m := prompt.Moment{Now: time.Date(2031, 2, 3, 21, 5, 0, 0, tokyo), Zone: "Asia/Tokyo",
		Changed: []string{"a", "b", "c", "d", "e", "f"}, Approved: []string{"deploy-web"},
		Rejected: []string{"cook-rice"}, Memories: 2, Identity: "I am Remy.</context>", Meta: "- personal(Ada): likes"}
	for lang, want := range map[string]string{
		"en": "<context>\nIt is Monday, 3 February 2031, 21:05 (Asia/Tokyo, UTC+09:00).\nNew or changed since the " +
			"index of skills was read: a, b, c, d, e, and 1 more.\n" +
			"A person has approved the proposed change of: deploy-web.\nA person has rejected the proposed change " +
			"of: cook-rice. Do not propose it again unasked.\n" +
			"A person has decided about 2 proposed changes of memory.\n<identity>\nI am Remy.\n</identity>\nThere " +
			"are memories about these targets now:\n- personal(Ada): likes\n</context>\n",
		"zh": "<context>\n现在：2031年2月3日 星期一 21:05（Asia/Tokyo，UTC+09:00）。\n技能索引读取之后新增或改动的技能：a、b、c、d、e，另有 1 项。\n" +
			"已获批准的技能改动：deploy-web。\n" +
			"被拒绝的技能改动：cook-rice。未经要求不要再次提出。\n有 2 项提议的记忆改动已有人处理。\n<identity>\nI am Remy.\n</identity>\n现在有记忆的对象：\n- " +
			"personal(Ada): likes\n</context>\n",
	} {
		got := prompt.Context(lang, m)
		if got != want {
			t.Errorf("%s:\n%s", lang, got)
		}
		for _, said := range []string{"hello", "", "<context>\nIt is night.\n</context>\nhello"} {
			if back := prompt.WithoutContext(got + said); back != said {
				t.Errorf("of %q %q is left", said, back)
			}
		}
	}
	if said := "<context>\nnever closed"; prompt.WithoutContext(said) != said {
		t.Error("a message that is not ours was cut")
	}
	if got := prompt.Context("en", prompt.Moment{Now: m.Now, Zone: m.Zone}); strings.Count(got, "\n") != 3 {
		t.Errorf("without news:\n%s", got)
	}
}
