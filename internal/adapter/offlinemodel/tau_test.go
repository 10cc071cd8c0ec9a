package offlinemodel

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/prompt"
	"cairn/internal/testkit"
)

var all = flag.Bool("all", false, "read every public trajectory instead of each fourth")

type trajectory struct {
	Traj []struct {
		Role, Name, Content string
		ToolCalls           []struct {
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
}

// tau reads the public trajectories where they exist; they are not part of the
// project.
func tau(t *testing.T) []prompt.Material {
	t.Helper()
	folder := os.Getenv("CAIRN_DATA")
	if folder == "" {
		folder = "../../../../shared/data"
	}
	data, err := os.ReadFile(filepath.Join(folder, "tau", "airline-train.json"))
	if err != nil {
		t.Logf("public data is absent, nothing tested: %v", err)
		return nil
	}
	var trajectories []trajectory
	if err := json.Unmarshal(data, &trajectories); err != nil {
		t.Fatal(err)
	}
	var out []prompt.Material
	for i, one := range trajectories {
		if !*all && i%4 != 0 {
			continue
		}
		var messages []prompt.Message
		for _, m := range one.Traj {
			message := prompt.Message{Role: m.Role, Name: m.Name, Content: m.Content}
			for _, made := range m.ToolCalls {
				message.ToolCalls = append(message.ToolCalls, made.Function.Name+"("+made.Function.Arguments+")")
			}
			messages = append(messages, message)
		}
		out = append(out, prompt.Material{Messages: numbering(messages...)})
	}
	return out
}

var (
	personal = regexp.MustCompile(`"(?:first_name|last_name|email|user_id|dob|address1)\\?": ?\\?"([^"\\]+)`)
	digits   = regexp.MustCompile(`[A-Za-z_]+\d{2,}|\d{4}`)
)

func TestRealConversationsGiveFewNamesAndTellNobody(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	names := map[string]int{}
	split, people := 0, 0
	materials := tau(t)
	for i, material := range materials {
		got := ask(t, prompt.Extract, material)
		if got["action"] == "create" {
			names[got["name"].(string)]++
		}
		if i%4 == 0 && len(ask(t, prompt.Segment, material)["tasks"].([]any)) > 1 {
			split++
		}
		delete(got, "evidence")
		text := strings.ReplaceAll(marshalled(got), `\n`, " ")
		for _, match := range personal.FindAllStringSubmatch(marshalled(material), -1) {
			people++
			if regexp.MustCompile(`\b` + regexp.QuoteMeta(match[1]) + `\b`).MatchString(text) {
				t.Errorf("trajectory %d contains %q", i, match[1])
			}
		}
		if found := digits.FindString(text); found != "" {
			t.Errorf("trajectory %d contains %q", i, found)
		}
	}
	if materials == nil {
		return
	}
	t.Logf("names %v", names)
	if people < 20*len(materials) {
		t.Errorf("only %d personal values were looked for", people)
	}
	if most := slices.Max(slices.Collect(maps.Values(names))); len(names) > 25 || most < len(materials)/8 ||
		split*4 > len(materials)/10 {
		t.Errorf("%d names, the most frequent %d times, %d of %d split", len(names), most, split, len(materials)/4)
	}
}

// One theme, conversation after conversation, is one skill in ever newer versions.
func TestSameThemeKeepsUpdatingOneSkill(t *testing.T) {
	t.Parallel()
	var known []prompt.Candidate
	materials, updates := tau(t), 0
	for _, material := range materials {
		made := func(tool string) bool {
			return slices.ContainsFunc(material.Messages, func(m prompt.Message) bool {
				return strings.Contains(strings.Join(m.ToolCalls, " "), tool)
			})
		}
		if !made("cancel_reservation") || made("update_") || made("book_") || made("transfer_") {
			continue
		}
		material.Candidates = known
		got := ask(t, prompt.Extract, material)
		if len(known) == 0 {
			known = []prompt.Candidate{{Handle: "S1", Name: got["name"].(string),
				Description: got["description"].(string), Trigger: strs(got["trigger"]),
				Procedure: procedure(got)}}
		} else if updates++; got["action"] != "update" || got["target"] != "S1" {
			t.Errorf("action %v of %v", got["action"], got["name"])
		}
	}
	if materials != nil && updates == 0 {
		t.Error("no conversation of the theme was found")
	}
}

func TestSourceHoldsNothingOfTheData(t *testing.T) {
	t.Parallel()
	words := regexp.MustCompile(`[a-z]+`)
	sequences := func(text string) []string {
		found := words.FindAllString(strings.ToLower(text), -1)
		var out []string
		for i := 0; i+4 <= len(found); i++ {
			out = append(out, strings.Join(found[i:i+4], " "))
		}
		return out
	}
	data := map[string]bool{}
	for _, material := range tau(t) {
		for _, m := range material.Messages {
			for _, sequence := range sequences(m.Content) {
				data[sequence] = true
			}
		}
	}
	files := append(sources(t, ""), sources(t, "../../domain/memoryrules/annotate_")...)
	for _, name := range []string{"phrases.json", "check.py.tmpl", "../../domain/memoryrules/words.json"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, source{name, string(text)})
	}
	for _, file := range files {
		for line := range strings.Lines(file.text) {
			for _, sequence := range sequences(line) {
				if data[sequence] {
					t.Errorf("%s holds %q", file.name, sequence)
				}
			}
		}
	}
}
