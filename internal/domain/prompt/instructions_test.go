package prompt

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var stages = []Stage{Distill, Segment, Notes, Extract, ExtractSimple, Merge, Files, Judge, Compare, Remember, Recite,
	Grade, Diagnose, Propose, Probe, Compress, Rerank, Condense, Facts}

func TestInstructionsMatchGolden(t *testing.T) {
	t.Parallel()
	for _, stage := range stages {
		for _, lang := range []string{"en", "zh"} {
			got, err := Instructions(stage, lang)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", string(stage)+"."+lang+".golden")
			if *update {
				if err := os.WriteFile(file, []byte(got+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got+"\n" != string(want) {
				t.Errorf("%s %s differs from %s; run go test -update and read the diff", stage, lang, file)
			}
		}
	}
}

// Both languages must name the same fields.
func TestInstructionsNameTheSameFieldsInBothLanguages(t *testing.T) {
	t.Parallel()
	quoted := regexp.MustCompile("`[^`]+`")
	for _, stage := range stages {
		fields := map[string]map[string]bool{}
		for _, lang := range []string{"en", "zh"} {
			text, err := Instructions(stage, lang)
			if err != nil {
				t.Fatal(err)
			}
			fields[lang] = map[string]bool{}
			for _, field := range quoted.FindAllString(text, -1) {
				if !strings.Contains(field, "[") { // the range notation is prose
					fields[lang][field] = true
				}
			}
		}
		for field := range fields["en"] {
			if !fields["zh"][field] {
				t.Errorf("%s: zh does not mention %s", stage, field)
			}
		}
		if len(fields["en"]) != len(fields["zh"]) {
			t.Errorf("%s: en names %d fields, zh %d", stage, len(fields["en"]), len(fields["zh"]))
		}
	}
}

func TestInstructionsChooseLanguage(t *testing.T) {
	t.Parallel()
	chinese, _ := Instructions(Segment, "zh-CN")
	french, _ := Instructions(Segment, "fr")
	english, _ := Instructions(Segment, "")
	if !strings.Contains(chinese, "任务") || french != english {
		t.Errorf("zh-CN starts %.20q, fr equals en: %v", chinese, french == english)
	}
}

func TestInstructionsRefuseUnknownStage(t *testing.T) {
	t.Parallel()
	for _, stage := range []Stage{"", "summary", "../segment", "frame"} {
		if _, err := Instructions(stage, "en"); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("stage %q: %v", stage, err)
		}
	}
}

func TestHashFollowsText(t *testing.T) {
	t.Parallel()
	if Hash("a") == Hash("b") || len(Hash("a")) != 16 {
		t.Errorf("Hash(a)=%s Hash(b)=%s", Hash("a"), Hash("b"))
	}
}
