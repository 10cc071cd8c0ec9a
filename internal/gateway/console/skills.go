package console

import (
	"fmt"
	"strconv"
	"strings"

	"cairn/internal/domain/access"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/skill"
	"cairn/internal/service/inspect"
	"cairn/internal/service/library"
)

func (c *Console) skillRoutes() {
	c.handle("GET skills", access.Read, c.listSkills)
	c.handle("POST skills", access.Write, c.uploadSkill)
	c.handle("GET skills/{skill}", access.Read, c.showSkill)
	c.handle("GET skills/{skill}/diff", access.Read, c.diffSkill)
	c.handle("GET skills/{skill}/package", access.Read, c.packageSkill)
	c.handle("POST skills/{skill}/rollback", access.Admin, c.rollbackSkill)
	for action, do := range map[string]struct {
		notice string
		change func(l *library.Library, rq *request, id int64) error
	}{
		"pin": {"pinned", func(l *library.Library, rq *request, id int64) error {
			_, err := l.Pin(rq.ctx, rq.ws(), id, true)
			return err
		}},
		"unpin": {"unpinned", func(l *library.Library, rq *request, id int64) error {
			_, err := l.Pin(rq.ctx, rq.ws(), id, false)
			return err
		}},
		"archive": {"archived", func(l *library.Library, rq *request, id int64) error {
			_, err := l.Archive(rq.ctx, rq.ws(), id)
			return err
		}},
		"restore": {"restored", func(l *library.Library, rq *request, id int64) error {
			_, err := l.Restore(rq.ctx, rq.ws(), id)
			return err
		}},
		"adopt": {"adopted", func(l *library.Library, rq *request, id int64) error {
			_, err := l.Manage(rq.ctx, rq.ws(), id, true)
			return err
		}},
		"release": {"released", func(l *library.Library, rq *request, id int64) error {
			_, err := l.Manage(rq.ctx, rq.ws(), id, false)
			return err
		}},
	} {
		c.handle("POST skills/{skill}/"+action, access.Admin, func(rq *request) error {
			head, _, err := c.Library.Find(rq.ctx, rq.ws(), rq.named("skill"), 0)
			if err != nil {
				return err
			}
			if err := do.change(c.Library, rq, head.ID); err != nil {
				return rq.again(err, c.showSkill)
			}
			return rq.redirect(do.notice, "skills", head.Name)
		})
	}
}

// Number of rows of a list, if the parameter limit does not say another one.
const (
	perPage    = 50
	maxPerPage = 1000
)

type skillsPage struct {
	Skills   []skill.Head
	Next     string
	Statuses []string
	Vector   string // unavailable if a search compared words only
}

// listSkills lists skills, or searches them by meaning.
func (c *Console) listSkills(rq *request) error {
	var all []string
	for _, s := range skill.Statuses() {
		all = append(all, string(s))
	}
	out := skillsPage{Statuses: all}
	status, err := rq.choice("status", all...)
	if err != nil {
		return err
	}
	filter := library.Filter{Limit: perPage, Cursor: rq.text("cursor")}
	if status != "" {
		filter.Statuses = []skill.Status{skill.Status(status)}
	}
	if q := rq.text("q"); q != "" {
		err = c.searchSkills(rq, q, filter.Statuses, &out)
	} else {
		var page library.Page
		page, err = c.Library.List(rq.ctx, rq.ws(), filter)
		out.Skills, out.Next = page.Skills, page.Next
	}
	if err != nil {
		return err
	}
	return rq.render("skills", "skills.title", out)
}

// searchSkills finds skills by meaning, and those whose name or description contains the query.
func (c *Console) searchSkills(rq *request, q string, statuses []skill.Status, out *skillsPage) error {
	if len(statuses) == 0 {
		statuses = []skill.Status{skill.Active, skill.Candidate, skill.DraftStatus}
	}
	known := map[int64]bool{}
	found, err := c.Finder.SearchSkills(rq.ctx, rq.ws(), clipText(q, 1000), statuses, perPage)
	if err != nil {
		return err
	}
	out.Vector = found.Vector
	for _, f := range found.Skills {
		out.Skills, known[f.Skill.ID] = append(out.Skills, f.Skill), true
	}
	named, err := c.Library.List(
		rq.ctx,
		rq.ws(),
		library.Filter{Statuses: statuses, Holds: clipText(q, 200), Limit: perPage},
	)
	for _, h := range named.Skills {
		if !known[h.ID] {
			out.Skills = append(out.Skills, h)
		}
	}
	return err
}

type skillPage struct {
	Head     skill.Head
	Version  skill.Version
	Active   bool // the shown version is the active one
	Raw      string
	AsRaw    bool
	Versions []skill.VersionInfo
	Evidence []inspect.Excerpt
	Uses     []readmodel.SkillUse
	Waiting  string // item of the inbox, if the skill waits for approval
}

const (
	versionsShown = 50
	usesShown     = 30
)

func (c *Console) showSkill(rq *request) error {
	number, err := rq.number("version", 0, 1, 1<<30)
	if err != nil {
		return err
	}
	head, v, err := c.Library.Find(rq.ctx, rq.ws(), rq.named("skill"), number)
	if err != nil {
		return err
	}
	out := skillPage{Head: head, Version: v, Active: v.Number == head.Version, AsRaw: rq.text("view") == "raw",
		Raw: string(skill.Compose(v.Name, v.Description, []byte(v.Body),
			skill.RenderOptions{NameStyle: c.Options.NameStyle}))}
	if out.Versions, err = c.Library.History(rq.ctx, rq.ws(), head.ID, versionsShown); err != nil {
		return err
	}
	if out.Evidence, err = c.Explore.Evidence(rq.ctx, rq.ws(), v.Sources); err != nil {
		return err
	}
	if out.Uses, _, err = c.Explore.Uses(rq.ctx, rq.ws(), head.ID, "", usesShown); err != nil {
		return err
	}
	if head.Status == skill.Candidate || head.Status == skill.DraftStatus {
		out.Waiting = fmt.Sprintf("s%d", head.ID)
	}
	return rq.render("skill", head.Name, out)
}

// uploadSkill imports a package. It waits in the inbox unless the skill has this content already.
func (c *Console) uploadSkill(rq *request) error {
	archive, err := rq.file("file")
	if err != nil {
		return rq.again(err, c.listSkills)
	}
	out, err := c.Library.Import(rq.ctx, rq.ws(), archive, string(agent.OriginImport), nil)
	if err != nil {
		return rq.again(err, c.listSkills)
	}
	switch {
	case out.Same:
		return rq.redirect("unchanged", "skills", out.Head.Name)
	case out.Pending != 0:
		return rq.redirect("uploaded", "inbox", fmt.Sprintf("c%d", out.Pending))
	}
	return rq.redirect("uploaded", "inbox", fmt.Sprintf("s%d", out.Head.ID))
}

func (c *Console) diffSkill(rq *request) error {
	from, err := rq.number("from", 0, 0, 1<<30)
	if err != nil {
		return err
	}
	to, err := rq.number("to", 0, 1, 1<<30)
	if err != nil {
		return err
	}
	head, _, err := c.Library.Find(rq.ctx, rq.ws(), rq.named("skill"), 0)
	if err != nil {
		return err
	}
	diff, err := c.Library.Diff(rq.ctx, rq.ws(), head.ID, from, to)
	if err != nil {
		return err
	}
	return rq.render("skill_diff", head.Name, struct {
		Head     skill.Head
		From, To int
		Diff     string
	}{head, from, to, diff})
}

// packageSkill sends the package of a version as a file.
func (c *Console) packageSkill(rq *request) error {
	number, err := rq.number("version", 0, 1, 1<<30)
	if err != nil {
		return err
	}
	head, _, err := c.Library.Find(rq.ctx, rq.ws(), rq.named("skill"), number)
	if err != nil {
		return err
	}
	name, archive, _, err := c.Library.Package(rq.ctx, rq.ws(), head.ID, number, "")
	if err != nil {
		return err
	}
	rq.w.Header().Set("Content-Type", "application/zip")
	rq.w.Header().Set("Content-Disposition", "attachment; filename="+strconv.Quote(strings.ToValidUTF8(name, "_")))
	_, _ = rq.w.Write(archive)
	return nil
}

func (c *Console) rollbackSkill(rq *request) error {
	to, err := strconv.Atoi(rq.r.PostFormValue("to"))
	base, err2 := strconv.Atoi(rq.r.PostFormValue("base"))
	if err != nil || err2 != nil || to < 1 || base < 1 {
		return fault.New(fault.InvalidArgument, "invalid version", "choose a version in the list of the skill")
	}
	head, _, err := c.Library.Find(rq.ctx, rq.ws(), rq.named("skill"), 0)
	if err != nil {
		return err
	}
	if _, err := c.Library.Rollback(rq.ctx, rq.ws(), head.ID, to, base); err != nil {
		return rq.again(err, c.showSkill)
	}
	return rq.redirect("rolled_back", "skills", head.Name)
}
