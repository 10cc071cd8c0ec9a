// Package prompt holds what models are told: instructions as text templates,
// English and Chinese side by side, and the one shape of a request:
// system = instructions, user = one fenced JSON document, the material,
// result = a JSON Schema or tools.
package prompt

import "encoding/json"

// Material is everything a model may look at, as data. One shape serves every
// stage; fields that a stage does not need are absent.
type Material struct {
	Task       string      `json:"task,omitempty"`       // name of the task at hand
	Question   string      `json:"question,omitempty"`   // what is asked of the model about the material
	Messages   []Message   `json:"messages,omitempty"`   // the transcript under study
	History    []Message   `json:"history,omitempty"`    // what came before it; may only fill gaps
	Candidates []Candidate `json:"candidates,omitempty"` // existing skills that may be updated, under short handles
	Memories   []string    `json:"memories,omitempty"`
	Notes      []string    `json:"notes,omitempty"`  // of the day, as far as they are made
	Skills     []Candidate `json:"skills,omitempty"` // skills in force
	// memories that may be changed or are judged, under short handles
	Stored   []StoredMemory  `json:"stored,omitempty"`
	Bank     []MemorySkill   `json:"bank,omitempty"`     // memory skills
	Cases    json.RawMessage `json:"cases,omitempty"`    // hard cases, for the designer
	Analysis json.RawMessage `json:"analysis,omitempty"` // what the designer made of them
	Failed   []string        `json:"failed,omitempty"`   // edits that made nothing better
	Problems []string        `json:"problems,omitempty"` // why the last proposal was refused
	// the skill that files are being written for, or that is judged
	Draft    *Candidate     `json:"draft,omitempty"`
	Files    []FilePlan     `json:"files,omitempty"`    // the files to write, exactly these names
	Tools    []string       `json:"tools,omitempty"`    // names of the tools seen in the transcript
	Limits   map[string]int `json:"limits,omitempty"`   // for example max_tasks, max_files
	Language string         `json:"language,omitempty"` // en or zh: the language to answer in
}

// Message is one transcript message as the model sees it; Index is the number
// that it cites.
type Message struct {
	Index     int      `json:"index"`
	Role      string   `json:"role"`
	Name      string   `json:"name,omitempty"`
	Content   string   `json:"content,omitempty"`
	ToolCalls []string `json:"tool_calls,omitempty"` // name(arguments)

	// Of a day with several conversations:
	Conversation int    `json:"conversation,omitempty"` // its number, from 1
	At           string `json:"at,omitempty"`           // local time
	Reviewed     bool   `json:"reviewed,omitempty"`     // has been looked through for memories and skills
}

// Candidate is a skill shown to the model. Handle stands for it in the reply,
// so that a model never sees or returns a database id.
type Candidate struct {
	Handle      string   `json:"handle,omitempty"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Trigger     []string `json:"trigger,omitempty"`
	Procedure   string   `json:"procedure,omitempty"`
	Experience  []string `json:"experience,omitempty"`
	Preference  []string `json:"preference,omitempty"`
	Examples    []string `json:"examples,omitempty"`
	Scripts     []string `json:"scripts,omitempty"`
	References  []string `json:"references,omitempty"`
	Tools       []string `json:"tools,omitempty"`
}

// FilePlan is a file that a skill is to have.
type FilePlan struct {
	File    string `json:"file"`
	Purpose string `json:"purpose"` // one line: what it is for
	Inputs  string `json:"inputs,omitempty"`
	Outputs string `json:"outputs,omitempty"`
}

// StoredMemory is a memory as its keeper sees it.
type StoredMemory struct {
	Handle  string `json:"handle"`
	Content string `json:"content"`
}

// MemorySkill is an instruction to the rememberer, part by part.
type MemorySkill struct {
	Name        string   `json:"name"`
	Action      string   `json:"action"` // insert, update, delete or noop
	Description string   `json:"description"`
	Purpose     string   `json:"purpose"`
	WhenToUse   []string `json:"when_to_use"`
	HowToApply  []string `json:"how_to_apply,omitempty"`
	Constraints []string `json:"constraints"`
}
