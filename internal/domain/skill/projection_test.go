package skill_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
	"cairn/internal/testkit"
)

var (
	memosRollback = skill.Document{Name: "Service Deployment Rollback", Description: "Roll a failing service back.",
		Trigger: []string{"rollback", "deployment", "incident"}, Procedure: "1. Probe\n2. Roll back",
		Others: []skill.Entry{{Key: "owner", Text: "the platform team"}}}
	files = []skill.File{{Path: "reference/checklist.md", Content: "- probe\n"},
		{Path: "scripts/check_health.py", Content: "print('healthy')\n"}}
)

func TestProjectionHasMemOSNames(t *testing.T) {
	t.Parallel()
	sources := make([]transcript.Message, 14)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	item := skill.ProjectMemOS(memosRollback, files,
		skill.ProjectedMetadata{ID: "7", URL: "http://x/v1", Sources: sources, UserID: "u", Version: 1, CreatedAt: at,
			UpdatedAt: at})
	raw, err := json.Marshal(item)
	testkit.Must(t, err)
	var got struct {
		ID, Memory string
		Metadata   map[string]any
	}
	testkit.Must(t, json.Unmarshal(raw, &got))
	m := got.Metadata
	for key, want := range map[string]any{"memory_type": "SkillMemory", "type": "skills", "status": "activated",
		"confidence": 0.99,
		"key":        "Service Deployment Rollback", "name": "Service Deployment Rollback",
		"skill_source": "auto_create",
		"version":      1.0,
		"background":   "", "url": "http://x/v1", "created_at": "2026-03-01T12:00:00Z",
		"tags": []any{"rollback", "deployment", "incident"}, "usage": []any{}, "history": []any{}} {
		if !reflect.DeepEqual(m[key], want) {
			t.Errorf("%s: %v, want %v", key, m[key], want)
		}
	}
	if got.ID != "7" || got.Memory != memosRollback.Description || len(m["sources"].([]any)) != 14 {
		t.Errorf("id %s, memory %q, %d sources", got.ID, got.Memory, len(m["sources"].([]any)))
	}
	if m["scripts"].(map[string]any)["check_health.py"] != files[1].Content ||
		m["others"].(map[string]any)["checklist.md"] != files[0].Content {
		t.Errorf("scripts %v, others %v", m["scripts"], m["others"])
	}
	for _, key := range []string{"description", "procedure", "experience", "preference", "examples", "user_id",
		"session_id", "manager_user_id", "project_id", "info", "embedding", "updated_at"} {
		if _, ok := m[key]; !ok {
			t.Errorf("%s is missing", key)
		}
	}
}

func TestProjectionTellsWhereASkillComesFrom(t *testing.T) {
	t.Parallel()
	sure := 0.5
	m := skill.ProjectMemOS(memosRollback, nil, skill.ProjectedMetadata{Archived: true, Uploaded: true,
		Confidence: &sure,
		Sources:    []transcript.Message{{Role: transcript.User, Content: "Roll it back."}}}).Metadata
	if m.Status != "archived" || m.SkillSource != "user_upload" || m.Confidence != 0.5 ||
		m.Others["owner"] != "the platform team" || m.Scripts != nil ||
		!reflect.DeepEqual(m.Sources, []skill.MemorySource{{Role: "user", Content: "Roll it back."}}) {
		t.Errorf("%+v", m)
	}
}
