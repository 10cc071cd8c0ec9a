package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
)

func load(t *testing.T, environ []string, overrides map[string]string) Config {
	t.Helper()
	c, err := Load(append(environ, "CAIRN_CONFIG="+write(t, "")), overrides)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cairn.env")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLaterLayersWin(t *testing.T) {
	t.Parallel()
	file := write(t, "# settings\nSKILL_MODE = simple\nSKILL_MAX_TASKS=3\nCAIRN_WORKSPACE=\"file\"\n\n")
	c, err := Load([]string{"CAIRN_CONFIG=" + file, "SKILL_MAX_TASKS=4", "CAIRN_WORKSPACE=environment"},
		map[string]string{"CAIRN_WORKSPACE": "flag"})
	if err != nil {
		t.Fatal(err)
	}
	if c.Mode != "simple" || c.MaxTasks != 4 || c.Workspace != "flag" || c.Gate != "auto" {
		t.Errorf("mode %s, tasks %d, workspace %s, gate %s", c.Mode, c.MaxTasks, c.Workspace, c.Gate)
	}
}

func TestBadSettingsAreNamed(t *testing.T) {
	t.Parallel()
	for setting, part := range map[string]string{
		"SKILL_MODE=fast": "SKILL_MODE", "SKILL_GATE=maybe": "SKILL_GATE", "SKILL_MAX_TASKS=0": "SKILL_MAX_TASKS",
		"SKILL_JSON_REPAIRS=9": "SKILL_JSON_REPAIRS",
		"CAIRN_LLM_LEASE=soon": "invalid configuration", "OPENAI_API_KEY=k": "no model",
		"SKILLS_REPO_BACKEND=s4": "SKILLS_REPO_BACKEND", "complete_skill_memory=maybe": "complete_skill_memory",
		"SKILL_MIN_QUALITY=11": "SKILL_MIN_QUALITY", "SKILL_KEEP_VERSIONS=-1": "SKILL_KEEP_VERSIONS",
		"SKILL_QUALITY=perhaps":    "invalid configuration",
		"SKILL_MIN_CONFIDENCE=NaN": "SKILL_MIN_CONFIDENCE", "CAIRN_RATE_LIMIT=Inf": "CAIRN_RATE_LIMIT",
		"CAIRN_MICROS_PER_DAY=0": "CAIRN_MICROS_PER_DAY", "CAIRN_MICROS_PER_DAY=-1": "-1",
		"CAIRN_MICROS_PER_DAY=lots": "lots", "CAIRN_MICROS_PER_DAY=1e9": "1e9",
		"SKILL_MERGE_SIM=1e999": "invalid configuration", "CAIRN_RATE_LIMIT=nan": "CAIRN_RATE_LIMIT",
	} {
		_, err := Load([]string{setting, "CAIRN_CONFIG=" + write(t, "")}, nil)
		if fault.CodeOf(err) != fault.Misconfigured || !strings.Contains(err.Error(), part) ||
			fault.From(err).Hint == "" {
			t.Errorf("%s: %v", setting, err)
		}
	}
	if _, err := Load([]string{"CAIRN_CONFIG=" + write(t, "no equals sign\n")}, nil); err == nil ||
		!strings.Contains(err.Error(), "line 1") {
		t.Errorf("a line without a value: %v", err)
	}
	if _, err := Load([]string{"CAIRN_CONFIG=" + filepath.Join(t.TempDir(), "missing")}, nil); err == nil {
		t.Error("a missing file that CAIRN_CONFIG names was ignored")
	}
}

func TestOldNamesAreUnderstood(t *testing.T) {
	t.Parallel()
	c := load(t, []string{"complete_skill_memory=false", "skills_local_dir=/a", "skills_oss_dir=b/",
		"skills_local_tmp_dir=/c", "EMBEDDING_DIMENSION=64", "SKILLS_REPO_BACKEND=LOCAL"}, nil)
	if c.Mode != "simple" || c.SkillsDir != "/a" || c.OSSDir != "b/" || c.EmbeddingDimensions != 64 {
		t.Errorf("mode %s, folder %s, bucket folder %s, dimensions %d", c.Mode, c.SkillsDir, c.OSSDir,
			c.EmbeddingDimensions)
	}
	if c := load(t, []string{"complete_skill_memory=false", "SKILL_MODE=full"}, nil); c.Mode != "full" {
		t.Error("a MemOS name won over Cairn's name")
	}
}

func TestSecretsAreMasked(t *testing.T) {
	t.Parallel()
	c := load(t, []string{"OPENAI_API_KEY=sk-very-secret", "CAIRN_MODEL=m",
		"DATABASE_URL=postgres://user:hidden@host/db", "OSS_ACCESS_KEY_SECRET=also-secret"}, nil)
	seen := map[string]string{}
	for _, s := range c.Settings() {
		if s.Name == "" {
			t.Error("a setting without a name")
		}
		seen[s.Name] = s.Value
		for _, secret := range []string{"very-secret", "hidden", "also-secret"} {
			if strings.Contains(s.Value, secret) {
				t.Errorf("%s shows %q", s.Name, s.Value)
			}
		}
	}
	if seen["DATABASE_URL"] != "postgres://user:xxxxx@host/db" || seen["OPENAI_API_KEY"] != "****" ||
		seen["CAIRN_MODEL"] != "m" {
		t.Errorf("%v", seen)
	}
}

func TestSwitchesAreOnAndOff(t *testing.T) {
	t.Parallel()
	if c := load(t, nil, nil); !c.Quality || c.RequireApproval || c.KeepVersions != 10 || c.MinQuality != 6 {
		t.Errorf("defaults: quality %t from %v, approval %t, versions %d", c.Quality, c.MinQuality, c.RequireApproval,
			c.KeepVersions)
	}
	for value, want := range map[string]bool{"on": true, "OFF": false, "true": true, "0": false} {
		if c := load(t, []string{"SKILL_QUALITY=" + value, "SKILL_REQUIRE_APPROVAL=" + value},
			nil); c.Quality != want || c.RequireApproval != want {
			t.Errorf("%s: quality %t, approval %t", value, c.Quality, c.RequireApproval)
		}
	}
}
