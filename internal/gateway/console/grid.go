package console

import (
	"fmt"
	"time"

	"cairn/internal/domain/access"
)

// grid is a page that consists of tables.
type grid struct {
	About  string // key
	Tables []table
	Forms  []form
	Links  []link
	Secret string // shown once
	Bars   *bars
	Curves *curves
}

// curves are lines over time, with their numbers in a table.
type curves struct {
	Curves   []chartCurve
	From, To string
	Numbers  table
}

// link is a link with the key of its text.
type link struct{ Path, Label string }

// table is a table of a grid. Its title and columns are keys.
type table struct {
	ID, Title string
	Columns   []string
	Rows      [][]cell
	Empty     string // key, for a table without rows
	Command   string // that makes a row
	Next      string // cursor of the next page
	Form      *form  // below the rows
}

// cell is a cell of a table: the first of a row is its header.
type cell struct {
	Text    string
	Link    string
	At      moment
	Number  bool
	Tag     string // class of a mark
	Quiet   string // a second line
	Actions []action
}

// action is a button of a row.
type action struct {
	Path   string
	Hidden [][2]string
	Button button
}

// form is a form below the tables of a grid.
type form struct {
	ID, Title, Path string
	Get             bool // a filter, which changes nothing
	Hidden          [][2]string
	Fields          []field
	Button          button
}

// field is a field of a form. Label and Hint are keys.
type field struct {
	Name, Label, Kind, Value, Hint string
	Required                       bool
	Options                        []option
}

func plain(text any) cell { return cell{Text: fmt.Sprint(text)} }

func (rq *request) numeric(n any) cell {
	return cell{Text: rq.c.pages[rq.lang].number(n), Number: true}
}

func (rq *request) at(t any) cell { return cell{At: rq.moment(t)} }

// tagged returns a mark with the text of a value.
func (rq *request) tagged(prefix string, value any) cell {
	return cell{Text: rq.worded(prefix, value), Tag: "tag-" + fmt.Sprint(value)}
}

// worded returns the text of a value.
func (rq *request) worded(prefix string, value any) string {
	return rq.c.pages[rq.lang].texts.Or(prefix, value)
}

// button returns an action that needs a scope.
func (rq *request) button(scope access.Scope, label, kind string, detail string) button {
	b := button{Label: label, Kind: kind, Detail: detail}
	if !rq.grant.Allows(scope) {
		b.Needs = string(scope)
	}
	return b
}

// moment returns a time in the zone of the workspace.
func (rq *request) moment(at any) moment {
	t, ok := at.(time.Time)
	if p, isPointer := at.(*time.Time); isPointer && p != nil {
		t, ok = *p, true
	}
	if !ok || t.IsZero() {
		return moment{}
	}
	return moment{t.UTC().Format(time.RFC3339), t.In(rq.zone).Format("2006-01-02 15:04:05 MST")}
}

// posted returns the value of a form field that was sent, empty on a page that shows no form's result.
func (rq *request) posted(name string) string { return rq.r.PostForm.Get(name) }

// typed returns what was typed into a form that failed.
func (rq *request) typed(name, otherwise string) string {
	if rq.failed != nil && rq.r.PostForm.Has(name) {
		return rq.r.PostForm.Get(name)
	}
	return otherwise
}

// filter returns a form with one filter of a list.
func (rq *request) filter(name, label, prefix string, values []string) form {
	options := []option{{"", rq.c.pages[rq.lang].texts.Text("list.all"), false}}
	for _, v := range values {
		options = append(options, option{v, rq.worded(prefix, v), v == rq.text(name)})
	}
	return form{ID: "filter", Get: true, Button: button{Label: "list.apply"},
		Fields: []field{{Name: name, Label: label, Kind: "select", Options: options}}}
}
