// Package prompt renders the texts that models receive. Instructions are templates in English and
// Chinese. A request has one shape: the system message holds the instructions, and the user message
// holds the material as one fenced JSON document. The result follows a JSON Schema or uses tools.
//
// The requests of a distillation begin with the same bytes, so that endpoints can cache them: one
// system message, and a window of the transcript. The instructions and the schema of the stage follow.
package prompt

import (
	"encoding/json"
	"slices"
)

// Material is the data of a request. One type serves every stage; fields that a stage does not need
// are absent.
type Material struct {
	Subject    string      `json:"subject,omitempty"`    // whom or what the stored memories are about
	Task       string      `json:"task,omitempty"`       // name of the current task
	Question   string      `json:"question,omitempty"`   // question about the material
	Messages   []Message   `json:"messages,omitempty"`   // the transcript to process, or excerpts of it
	Ranges     [][2]int    `json:"ranges,omitempty"`     // messages of the task, both ends included; empty for all
	Outcome    string      `json:"outcome,omitempty"`    // how the task seemed to end
	Findings   []Finding   `json:"findings,omitempty"`   // instead of messages, for a task longer than a window
	OpenTasks  []OpenTask  `json:"open_tasks,omitempty"` // that went on at the end of the previous window
	History    []Message   `json:"history,omitempty"`    // earlier messages, only to fill gaps
	Candidates []Candidate `json:"candidates,omitempty"` // existing skills that can be updated, under short handles
	Memories   []string    `json:"memories,omitempty"`
	Notes      []string    `json:"notes,omitempty"`  // notes of the day so far
	Skills     []Candidate `json:"skills,omitempty"` // active skills
	// Stored are memories that can be changed or are judged, under short handles.
	Stored   []StoredMemory  `json:"stored,omitempty"`
	Bank     []MemorySkill   `json:"bank,omitempty"`     // memory skills
	Cases    json.RawMessage `json:"cases,omitempty"`    // hard cases, for the designer
	Analysis json.RawMessage `json:"analysis,omitempty"` // the designer's analysis of the cases
	Failed   []string        `json:"failed,omitempty"`   // edits without an improvement
	Problems []string        `json:"problems,omitempty"` // why the last proposal was rejected
	// Draft is the skill to write files for, or to judge.
	Draft    *Candidate     `json:"draft,omitempty"`
	Files    []FilePlan     `json:"files,omitempty"`    // files to write, with exactly these names
	Tools    []string       `json:"tools,omitempty"`    // names of the tools in the transcript
	Limits   map[string]int `json:"limits,omitempty"`   // for example max_tasks, max_files
	Language string         `json:"language,omitempty"` // language of the reply: en or zh
}

// Finding is a note about a part of a task.
type Finding struct {
	Text     string `json:"text"`
	Evidence []int  `json:"evidence"` // indices of messages
}

// OpenTask is a task that a window did not finish.
type OpenTask struct {
	Name  string `json:"task_name"`
	Query string `json:"query"`
}

// InRanges returns the messages in Ranges, or all messages without Ranges.
func (m Material) InRanges() []Message {
	if len(m.Ranges) == 0 {
		return m.Messages
	}
	var out []Message
	for _, message := range m.Messages {
		if slices.ContainsFunc(
			m.Ranges,
			func(r [2]int) bool { return r[0] <= message.Index && message.Index <= r[1] },
		) {
			out = append(out, message)
		}
	}
	return out
}

// Candidate is a skill for the model. The model uses Handle in its reply and never sees a database
// ID.
type Candidate struct {
	Handle       string   `json:"handle,omitempty"`
	Name         string   `json:"name"`
	Description  string   `json:"description"`
	Trigger      []string `json:"trigger,omitempty"`
	NotFor       []string `json:"not_for,omitempty"`
	Inputs       []string `json:"inputs,omitempty"`
	Rules        []string `json:"rules,omitempty"`
	Procedure    string   `json:"procedure,omitempty"`
	Pitfalls     []string `json:"pitfalls,omitempty"`
	Verification []string `json:"verification,omitempty"`
	Experience   []string `json:"experience,omitempty"`
	Preference   []string `json:"preference,omitempty"`
	Examples     []string `json:"examples,omitempty"`
	Scripts      []string `json:"scripts,omitempty"`
	References   []string `json:"references,omitempty"`
	Tools        []string `json:"tools,omitempty"`
}

// Texts returns the texts of the skill, one element for each field or item.
func (c Candidate) Texts() []string {
	return slices.Concat([]string{c.Name, c.Description, c.Procedure}, c.Trigger, c.NotFor, c.Inputs, c.Rules,
		c.Pitfalls, c.Verification, c.Experience, c.Preference, c.Examples, c.Scripts, c.References, c.Tools)
}

// FilePlan is a planned file of a skill.
type FilePlan struct {
	File    string `json:"file"`
	Purpose string `json:"purpose"` // one line
	Inputs  string `json:"inputs,omitempty"`
	Outputs string `json:"outputs,omitempty"`
}

// StoredMemory is a memory for the model that maintains it.
type StoredMemory struct {
	Handle  string `json:"handle"`
	Content string `json:"content"`
}

// MemorySkill holds the parts of a memory skill.
type MemorySkill struct {
	Name        string   `json:"name"`
	Action      string   `json:"action"` // insert, update, delete or noop
	Description string   `json:"description"`
	Purpose     string   `json:"purpose"`
	WhenToUse   []string `json:"when_to_use"`
	HowToApply  []string `json:"how_to_apply,omitempty"`
	Constraints []string `json:"constraints"`
}
