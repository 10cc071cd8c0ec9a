package transcript

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Task is a part of a conversation with one goal.
type Task struct {
	Name string `json:"name"`
	Seqs []int  `json:"seqs"` // ascending, without repetitions, at least two
	Key  string `json:"key"`  // 16 hex digits, derived from the batch's key and Seqs, never from the model's name

	Query   string `json:"query,omitempty"`   // one sentence that says what the user wants; empty if not stated
	Outcome string `json:"outcome,omitempty"` // success, failure, mixed or unknown; empty if not stated
	Proof   []int  `json:"proof,omitempty"`   // messages that show the outcome
	Open    bool   `json:"open,omitempty"`    // the task goes on after the window
}

// outcomes are the ways in which a task can seem to end.
var outcomes = []string{"success", "failure", "mixed", "unknown"}

// DefaultMaxTasks is the default maximum number of tasks of one conversation.
const DefaultMaxTasks = 8

// minTaskMessages is the minimum size of a task: a request and a reply.
const minTaskMessages = 2

// DecodeTasks decodes a model's division of n messages into tasks. It accepts an array, or
// {"tasks": array}, of {"task_name", "message_indices": [[first, last], [one], one]}. Ranges are
// inclusive and start at 0. The members query, outcome, proof and open are optional. Of joined tasks,
// the first query and the last outcome count.
//
// Ranges are clamped to the conversation. Negative, reversed and non-integer ranges are dropped.
// Tasks of one name (NFKC, case folded) are merged, and tasks of one message are dropped. Each of
// these is a warning. An empty list is valid. The error lists all problems in a form that can be
// sent to the model for repair. maxTasks of 0 means DefaultMaxTasks.
func DecodeTasks(raw json.RawMessage, n int, batchKey string, maxTasks int) ([]Task, []string, error) {
	if maxTasks <= 0 {
		maxTasks = DefaultMaxTasks
	}
	list, err := TaskList(raw)
	if err != nil {
		return nil, nil, err
	}
	var d division
	for i, item := range list {
		d.add(i, item, n)
	}
	if len(d.tasks) == 0 && len(d.faults) > 0 && len(d.faults) == len(list) {
		return nil, d.warnings, fmt.Errorf("no usable task: %s", strings.Join(d.faults, "; "))
	}
	return d.finish(batchKey, maxTasks), d.warnings, nil
}

// TaskList returns the items of such a reply unchanged, so that replies about several windows
// of one conversation can be joined before DecodeTasks.
func TaskList(raw json.RawMessage) ([]json.RawMessage, error) {
	var list []json.RawMessage
	var wrapped struct {
		Tasks json.RawMessage `json:"tasks"`
	}
	switch kind(raw) {
	case '[':
	case '{':
		if err := json.Unmarshal(raw, &wrapped); err != nil {
			return nil, fmt.Errorf("the reply is not valid JSON: %w", err)
		}
		if kind(wrapped.Tasks) != '[' {
			return nil, fmt.Errorf("the reply must be an array of tasks, or an object with the array under \"tasks\"")
		}
		raw = wrapped.Tasks
	default:
		return nil, fmt.Errorf("the reply must be an array of tasks, [] if there are none; got %.40s", raw)
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("the reply is not valid JSON: %w", err)
	}
	return list, nil
}

// division collects tasks while a reply is decoded.
type division struct {
	tasks    []Task
	byName   map[string]int
	warnings []string
	faults   []string // items with an invalid form
}

func (d *division) warn(format string, args ...any) {
	d.warnings = append(d.warnings, fmt.Sprintf(format, args...))
}

func (d *division) add(i int, item json.RawMessage, n int) {
	var wire struct {
		Name    json.RawMessage `json:"task_name"`
		Indices json.RawMessage `json:"message_indices"`
		ending
	}
	fault := ""
	if kind(item) != '{' || json.Unmarshal(item, &wire) != nil {
		fault = fmt.Sprintf("item %d: want an object with task_name and message_indices", i)
	} else if strings.TrimSpace(scalar(wire.Name)) == "" {
		fault = fmt.Sprintf("item %d: task_name is missing or empty", i)
	} else if wire.Indices == nil || kind(wire.Indices) == 'n' {
		fault = fmt.Sprintf("item %d: message_indices is missing", i)
	}
	if fault != "" {
		d.faults = append(d.faults, fault)
		d.warn("%s", fault)
		return
	}
	name := strings.Join(strings.Fields(scalar(wire.Name)), " ")
	seqs, problems := decodeRanges(wire.Indices, n)
	for _, problem := range problems {
		d.warn("task %q: %s", name, problem)
	}
	if d.byName == nil {
		d.byName = map[string]int{}
	}
	key := foldName(name)
	at, known := d.byName[key]
	if !known {
		at = len(d.tasks)
		d.byName[key] = at
		d.tasks = append(d.tasks, Task{Name: name})
	}
	d.tasks[at].Seqs = append(d.tasks[at].Seqs, seqs...)
	wire.apply(&d.tasks[at], n)
}

// ending holds the optional members of a task.
type ending struct {
	Query   json.RawMessage `json:"query"`
	Outcome json.RawMessage `json:"outcome"`
	Proof   json.RawMessage `json:"proof"`
	Open    json.RawMessage `json:"open"`
}

// apply sets what is valid. The rest is left out: a task is useful without it.
func (e ending) apply(t *Task, n int) {
	if t.Query == "" {
		t.Query = strings.Join(strings.Fields(scalar(e.Query)), " ")
	}
	t.Open = string(e.Open) == "true"
	outcome := strings.ToLower(strings.TrimSpace(scalar(e.Outcome)))
	if !slices.Contains(outcomes, outcome) {
		return
	}
	var proof []int
	if json.Unmarshal(e.Proof, &proof) != nil {
		proof = nil
	}
	proof = slices.DeleteFunc(proof, func(seq int) bool { return seq < 0 || seq >= n })
	slices.Sort(proof)
	t.Outcome, t.Proof = outcome, slices.Compact(proof)
}

// finish drops tasks that are too small, too many or duplicates, and sets the keys of the others.
func (d *division) finish(batchKey string, maxTasks int) []Task {
	var kept []Task
	owner := map[string]string{}
	for _, task := range d.tasks {
		slices.Sort(task.Seqs)
		task.Seqs = slices.Compact(task.Seqs)
		task.Key = taskKey(batchKey, task.Seqs)
		switch {
		case len(task.Seqs) < minTaskMessages:
			d.warn("task %q: %d usable messages, at least %d are needed", task.Name, len(task.Seqs), minTaskMessages)
		case owner[task.Key] != "":
			d.warn("task %q: same messages as task %q", task.Name, owner[task.Key])
		case len(kept) == maxTasks:
			d.warn("task %q: more than %d tasks", task.Name, maxTasks)
		default:
			owner[task.Key] = task.Name
			kept = append(kept, task)
		}
	}
	return kept
}

func taskKey(batchKey string, seqs []int) string {
	var b strings.Builder
	b.WriteString(batchKey)
	for _, seq := range seqs {
		b.WriteByte('\n')
		b.WriteString(strconv.Itoa(seq))
	}
	return shortHash([]byte(b.String()))[:16]
}

// foldName returns equal texts for names that differ only in case or Unicode form.
func foldName(name string) string {
	return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(name)))
}
