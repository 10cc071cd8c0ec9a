package skill

import (
	"time"

	"cairn/internal/domain/transcript"
)

// MemoryType is the memory type of skills in MemOS.
const MemoryType = "SkillMemory"

// MemoryItem is a skill in MemOS' format: one memory item with the fields of its
// TreeNodeTextualMemoryMetadata.
type MemoryItem struct {
	ID       string         `json:"id"`
	Memory   string         `json:"memory"` // the description
	Metadata MemoryMetadata `json:"metadata"`
}

// MemoryMetadata has exactly the names of MemOS.
type MemoryMetadata struct {
	MemoryType    string            `json:"memory_type"` // MemoryType
	Type          string            `json:"type"`        // skills
	Status        string            `json:"status"`      // activated or archived
	Confidence    float64           `json:"confidence"`  // 0–1
	Key           string            `json:"key"`
	Name          string            `json:"name"`
	Tags          []string          `json:"tags"`
	Description   string            `json:"description"`
	Procedure     string            `json:"procedure"`
	Experience    []string          `json:"experience"`
	Preference    []string          `json:"preference"`
	Examples      []string          `json:"examples"`
	Tool          []string          `json:"tool"`
	Scripts       map[string]string `json:"scripts"` // file name → code, or null
	Others        map[string]string `json:"others"`  // file name or key → text, or null
	URL           string            `json:"url"`
	SkillSource   string            `json:"skill_source"` // auto_create or user_upload
	Sources       []MemorySource    `json:"sources"`
	UserID        string            `json:"user_id"`
	SessionID     string            `json:"session_id"`
	ManagerUserID string            `json:"manager_user_id"`
	ProjectID     string            `json:"project_id"`
	Info          map[string]any    `json:"info"`
	Embedding     []float32         `json:"embedding"`
	CreatedAt     string            `json:"created_at"` // RFC 3339
	UpdatedAt     string            `json:"updated_at"`
	Usage         []string          `json:"usage"`
	Background    string            `json:"background"`
	Version       int               `json:"version"`
	History       []any             `json:"history"`
}

// MemorySource is a message that is evidence for a skill.
type MemorySource struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// defaultConfidence is the value that MemOS uses for every skill.
const defaultConfidence = 0.99

// ProjectedMetadata holds the stored properties of a skill that its document does not contain.
type ProjectedMetadata struct {
	ID            string
	Archived      bool
	Uploaded      bool     // uploaded by a user, not distilled
	Confidence    *float64 // nil means MemOS' 0.99
	URL           string
	Sources       []transcript.Message
	UserID        string
	SessionID     string
	ManagerUserID string
	ProjectID     string
	Info          map[string]any
	Embedding     []float32
	Version       int
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

// ProjectMemOS converts a skill to MemOS' format.
func ProjectMemOS(d Document, files []File, p ProjectedMetadata) MemoryItem {
	d = d.Seed()
	m := MemoryMetadata{
		MemoryType: MemoryType, Type: "skills", Status: "activated", Confidence: defaultConfidence,
		Key: d.Name, Name: d.Name, Tags: list(d.Trigger), Description: d.Description, Procedure: d.Procedure,
		Experience: list(d.Experience), Preference: list(d.Preference), Examples: list(d.Examples), Tool: list(d.Tools),
		URL: p.URL, SkillSource: "auto_create", Sources: []MemorySource{},
		UserID: p.UserID, SessionID: p.SessionID, ManagerUserID: p.ManagerUserID, ProjectID: p.ProjectID,
		Info: p.Info, Embedding: p.Embedding, CreatedAt: stamp(p.CreatedAt), UpdatedAt: stamp(p.UpdatedAt),
		Usage: []string{}, Version: p.Version, History: []any{},
	}
	if p.Archived {
		m.Status = "archived"
	}
	if p.Uploaded {
		m.SkillSource = "user_upload"
	}
	if p.Confidence != nil {
		m.Confidence = *p.Confidence
	}
	for _, source := range p.Sources {
		m.Sources = append(m.Sources, MemorySource{string(source.Role), source.Content})
	}
	for _, e := range d.Others {
		put(&m.Others, e.Key, e.Text)
	}
	for _, f := range files {
		if f.Kind() == Scripts {
			put(&m.Scripts, f.Name(), f.Content)
		} else {
			put(&m.Others, f.Name(), f.Content)
		}
	}
	return MemoryItem{ID: p.ID, Memory: d.Description, Metadata: m}
}

func put(texts *map[string]string, key, text string) {
	if *texts == nil {
		*texts = map[string]string{}
	}
	(*texts)[key] = text
}

// list returns [] in JSON, never null.
func list(items []string) []string { return append([]string{}, items...) }

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
