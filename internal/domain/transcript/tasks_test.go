package transcript_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/transcript"
)

func ExampleDecodeTasks() {
	reply := `[{"task_id":1,"task_name":"Code Review","message_indices":[[0,2],[6,99]],"reasoning":"…"},
		{"task_name":"Chat","message_indices":[[3.5],[-2,4],7]}]`
	tasks, warnings, err := transcript.DecodeTasks(json.RawMessage(reply), 8, "batch-1", 0)
	fmt.Println(tasks[0].Name, tasks[0].Seqs, err)
	for _, warning := range warnings {
		fmt.Println(warning)
	}
	// Output:
	// Code Review [0 1 2 6 7] <nil>
	// task "Chat": [3.5]: not an integer
	// task "Chat": [-2,4]: negative
	// task "Chat": 1 usable messages, at least 2 are needed
}

// decode returns the tasks as "name=seqs" lines.
func decode(t *testing.T, reply string, n, maxTasks int) (string, []string) {
	t.Helper()
	tasks, warnings, err := transcript.DecodeTasks(json.RawMessage(reply), n, "b", maxTasks)
	if err != nil {
		t.Fatalf("DecodeTasks: %v", err)
	}
	var parts []string
	for _, task := range tasks {
		parts = append(parts, fmt.Sprintf("%s=%v", task.Name, task.Seqs))
	}
	return strings.Join(parts, " "), warnings
}

// Overlapping and interleaved ranges, and related forms. There are 8 messages.
func TestDecodeTasksAcceptsRanges(t *testing.T) {
	item := func(name, indices string) string {
		return fmt.Sprintf(`{"task_name":%q,"message_indices":%s}`, name, indices)
	}
	for name, c := range map[string]struct {
		reply    string
		want     string
		warnings int
	}{
		"interleaved": {"[" + strings.Join([]string{item("A", "[[0,2],[6,7]]"), item("B", "[[3,5],[4,5]]"),
			item("C", "[[-2,99]]"),
			item("D", "[[3.5]]"), item("E", "[7]"), item("Code Review", "[[0,1]]"), item("code  review", "[[2,2]]")},
			",") + "]",
			"A=[0 1 2 6 7] B=[3 4 5] Code Review=[0 1 2]", 5},
		"wrapped":                  {`{"tasks":[` + item("A", "[[0,1]]") + `]}`, "A=[0 1]", 0},
		"clamped":                  {"[" + item("A", "[[6,99]]") + "]", "A=[6 7]", 0},
		"beyond the end":           {"[" + item("A", "[[0,1],[8,9]]") + "]", "A=[0 1]", 1},
		"reversed":                 {"[" + item("A", "[[0,1],[5,3]]") + "]", "A=[0 1]", 1},
		"bare numbers":             {"[" + item("A", "[0,4]") + "]", "A=[0 4]", 0},
		"a number for the list":    {"[" + item("A", "3") + "," + item("A", "5") + "]", "A=[3 5]", 0},
		"whole numbers as floats":  {"[" + item("A", "[[0.0,1e0]]") + "]", "A=[0 1]", 0},
		"three bounds, text, null": {"[" + item("A", `[[0,1],[1,2,3],"5",null]`) + "]", "A=[0 1]", 3},
		"huge":                     {"[" + item("A", `[[0,1e300]]`) + "]", "A=[0 1 2 3 4 5 6 7]", 0},
		"names in wide letters":    {"[" + item("Ａpi", "[0]") + "," + item("api", "[1]") + "]", "Ａpi=[0 1]", 0},
		"same messages twice":      {"[" + item("A", "[[0,1]]") + "," + item("B", "[0,1]") + "]", "A=[0 1]", 1},
		"one item of wrong shape":  {"[" + item("A", "[[0,1]]") + `,{"task_name":"B"},7]`, "A=[0 1]", 2},
		"empty":                    {"[]", "", 0},
		"empty, wrapped":           {`{"tasks":[]}`, "", 0},
		"at most two tasks": {"[" + item("A", "[[0,1]]") + "," + item("B", "[[2,3]]") + "," +
			item("C", "[[4,5]]") + "]", "A=[0 1] B=[2 3]", 1},
	} {
		t.Run(name, func(t *testing.T) {
			maxTasks := 0
			if strings.HasPrefix(name, "at most two") {
				maxTasks = 2
			}
			got, warnings := decode(t, c.reply, 8, maxTasks)
			if got != c.want || len(warnings) != c.warnings {
				t.Errorf("got %q with %d warnings %q, want %q with %d", got, len(warnings), warnings, c.want,
					c.warnings)
			}
		})
	}
}

func TestDecodeTasksNamesTheFaultForRepair(t *testing.T) {
	for reply, want := range map[string]string{
		`null`:                                 "must be an array",
		`"none"`:                               "must be an array",
		`{"result":[]}`:                        `under "tasks"`,
		`[1`:                                   "not valid JSON",
		`{"tasks":`:                            "not valid JSON",
		`[{"message_indices":[[0,1]]}]`:        "item 0: task_name is missing",
		`[{"task_name":"A"},{"task_name":""}]`: "item 0: message_indices is missing; item 1: task_name is missing",
	} {
		tasks, _, err := transcript.DecodeTasks(json.RawMessage(reply), 8, "b", 0)
		if err == nil || !strings.Contains(err.Error(), want) || tasks != nil {
			t.Errorf("%s: got %v, want an error with %q", reply, err, want)
		}
	}
}

func TestTaskKeyDependsOnBatchAndMessagesOnly(t *testing.T) {
	key := func(batch, name, indices string) string {
		reply := fmt.Sprintf(`[{"task_name":%q,"message_indices":%s}]`, name, indices)
		tasks, _, err := transcript.DecodeTasks(json.RawMessage(reply), 8, batch, 0)
		if err != nil || len(tasks) != 1 {
			t.Fatalf("%v %v", tasks, err)
		}
		return tasks[0].Key
	}
	first := key("b", "A", "[[0,2]]")
	if len(first) != 16 || first != key("b", "other", "[2,1,0]") {
		t.Errorf("the key depends on the name or the order of the ranges: %s", first)
	}
	if first == key("c", "A", "[[0,2]]") || first == key("b", "A", "[[0,3]]") {
		t.Errorf("the key does not depend on the batch or the messages")
	}
}

func FuzzDecodeTasks(f *testing.F) {
	for _, seed := range []string{`[]`, `null`, `{"tasks":[{"task_name":"A","message_indices":[[0,2],5,[1,1]]}]}`,
		`[{"task_name":7,"message_indices":[[-1,3],[3.5],["a"]]},{}]`} {
		f.Add([]byte(seed), 8, 2)
	}
	f.Fuzz(func(t *testing.T, raw []byte, n, maxTasks int) {
		n, maxTasks = n&63, maxTasks&15
		tasks, _, err := transcript.DecodeTasks(raw, n, "b", maxTasks)
		if err != nil {
			return
		}
		if limit := max(maxTasks, transcript.DefaultMaxTasks*(1-min(maxTasks, 1))); len(tasks) > limit {
			t.Fatalf("%d tasks, at most %d", len(tasks), limit)
		}
		keys := map[string]bool{}
		for _, task := range tasks {
			if keys[task.Key] || strings.TrimSpace(task.Name) == "" || len(task.Seqs) < 2 {
				t.Fatalf("bad task %+v", task)
			}
			keys[task.Key] = true
			if !slices.IsSorted(task.Seqs) || len(slices.Compact(slices.Clone(task.Seqs))) != len(task.Seqs) ||
				task.Seqs[0] < 0 || task.Seqs[len(task.Seqs)-1] >= n {
				t.Fatalf("bad messages %v of %d", task.Seqs, n)
			}
		}
	})
}
