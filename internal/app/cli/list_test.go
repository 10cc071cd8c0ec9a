package cli

import (
	"encoding/json"
	"testing"

	"cairn/internal/service/library"
	"cairn/internal/testkit"
)

// The command shows all of a list that the store gives out in pages.
func TestSkillsListShowsMoreThanAPage(t *testing.T) {
	t.Parallel()
	w := idle(t)
	const many = 2*library.MaxListed + 1
	_, err := w.Admin().Exec(t.Context(), `with p as (
  insert into cairn.packages (workspace_id, sha256, key, bytes) values ($1, sha256('p'), 'p', 1)
), s as (
  insert into cairn.skills (workspace_id, name, status, head_version, origin)
  select $1, 'skill-' || i, case when i = 1 then 'archived' else 'active' end, 1, 'distill' from generate_series(0, `+
		`$2) i returning id
)
insert into cairn.skill_versions (workspace_id, skill_id, version, base_version, display_name, description, body, `+
		`lang, content_sha256, package_sha256, origin)
select $1, id, 1, 0, 'Skill', 'Something', '', 'en', sha256('x'), sha256('p'), 'distill' from s`, w.Workspace.ID, many)
	testkit.Must(t, err)
	for _, c := range []struct {
		want int
		args []string
	}{{many, []string{"skills", "list", "-o", "json"}}, {many + 1, []string{"skills", "list", "--all", "-o", "json"}}} {
		code, out, errs := w.run("", c.args...)
		var listed struct{ Skills []struct{ Name string } }
		if err := json.Unmarshal([]byte(out), &listed); err != nil || code != 0 {
			t.Fatalf("exit %d, %v: %s", code, err, errs)
		}
		names := map[string]bool{}
		for i, s := range listed.Skills {
			if names[s.Name] = true; i > 0 && s.Name <= listed.Skills[i-1].Name {
				t.Errorf("%s comes after %s", s.Name, listed.Skills[i-1].Name)
			}
		}
		if len(listed.Skills) != c.want || len(names) != c.want {
			t.Errorf("%v: %d skills, %d names, want %d", c.args, len(listed.Skills), len(names), c.want)
		}
	}
}
