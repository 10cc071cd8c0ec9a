package mem0api_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestAnAddedMemoryIsReadWithWhatItsClientSaidOfIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.client()
	var made results
	c.do(http.MethodPost, "/memories", object{"user_id": "ada", "app_id": "shop", "infer": false,
		"metadata": object{"topic": "pets"}, "expiration_date": "2999-01-31",
		"messages": []object{{"role": "user", "content": "The cat is called Miso."},
			{"role": "assistant", "content": "A fine name."}}}).into(&made)
	if len(made.Results) != 2 || made.Results[0].Event != "ADD" || made.Results[1].Role != "assistant" {
		t.Fatalf("%+v", made)
	}
	var one entry
	for range 2 {
		c.do(http.MethodGet, "/memories/"+made.Results[0].ID, nil).into(&one)
		if one.ID != made.Results[0].ID || one.Memory != "The cat is called Miso." || one.User != "ada" ||
			one.App != "shop" || one.Role != "user" || one.Expires != "2999-01-31" || len(one.Metadata) != 1 ||
			one.Metadata["topic"] != "pets" || one.Hash == "" {
			t.Errorf("%+v", one)
		}
	}
	if got := b.as(b.makeKey(b.B, "admin")).lists("user_id=ada"); got != "" {
		t.Errorf("in another workspace: %s", got)
	}
}

func TestAnAddThatIsSentAgainAddsOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	once := b.client().with("Idempotency-Key", "1")
	first := once.adds("The cat is called Miso.", object{"user_id": "ada"})
	if again := once.adds("The cat is called Miso.", object{"user_id": "ada"}); again != first {
		t.Errorf("%s, then %s", first, again)
	}
	body := object{"user_id": "ada", "infer": false, "messages": "The dog is called Rex."}
	if p := once.do(http.MethodPost, "/memories", body).refused(http.StatusConflict); p.Code != "op_reused" {
		t.Errorf("%+v", p)
	}
	var out results
	body["messages"] = "The cat is called Miso."
	b.client().do(http.MethodPost, "/memories", body).into(&out)
	if len(out.Results) != 1 || out.Results[0].ID != first || out.Results[0].Event != "NONE" {
		t.Errorf("under another key: %+v", out)
	}
	if got := b.client().lists("user_id=ada"); got != "The cat is called Miso." {
		t.Errorf("listed %s", got)
	}
}

func TestAnAddThatCannotBeReadIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for what, body := range map[string]any{
		"without an entity":      object{"messages": "x"},
		"without messages":       object{"user_id": "ada"},
		"with no messages":       object{"user_id": "ada", "messages": []object{}},
		"with an empty text":     object{"user_id": "ada", "messages": ""},
		"with a number":          object{"user_id": "ada", "messages": 7},
		"with another date":      object{"user_id": "ada", "messages": "x", "expiration_date": "tomorrow"},
		"with another type":      object{"user_id": "ada", "messages": "x", "memory_type": "semantic"},
		"with a number for whom": object{"user_id": 7, "messages": "x"},
		"in the year 300000":     object{"user_id": "ada", "messages": "x", "timestamp": 9_000_000_000_000},
		"of an infinite number":  `{"user_id":"ada","messages":"x","metadata":{"n":1e999}}`,
		"that is cut off":        `{"user_id":`,
	} {
		p := b.client().do(http.MethodPost, "/memories", body).refused(http.StatusBadRequest)
		if p.Code != "invalid_argument" {
			t.Errorf("%s: %+v", what, p)
		}
	}
	if rows := b.Rows("memories", "runs"); rows != "memories 0, runs 0" {
		t.Errorf("stored %s", rows)
	}
}

func TestListsAreBoundedAndInTheOrderOfTheirMaking(t *testing.T) {
	t.Parallel()
	c := setup(t).client()
	for _, text := range []string{"one", "two", "three", "four", "five"} {
		c.adds(text, object{"user_id": "ada"})
	}
	for query, want := range map[string]string{
		"user_id=ada":                      "one|two|three|four|five",
		"user_id=ada&top_k=2":              "one|two",
		"user_id=ada&limit=2&page=2":       "three|four",
		"user_id=ada&page_size=2&page=3":   "five",
		"user_id=ada&page_size=2&page=4":   "",
		"user_id=ada&page=0&page_size=1":   "one",
		"user_id=bob":                      "",
		"user_id=*&top_k=1":                "one",
		"agent_id=*":                       "",
		"user_id=ada&run_id=r1&app_id=any": "",
	} {
		if got := c.lists(query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	for _, query := range []string{"", "top_k=5", "user_id=ada&top_k=1001", "user_id=ada&top_k=-1",
		"user_id=ada&top_k=1000&page=9223372036854775807", "user_id=ada&page=1000001"} {
		c.do(http.MethodGet, "/memories?"+query, nil).refused(http.StatusBadRequest)
	}
}

func TestAPageNamesThoseBesideIt(t *testing.T) {
	t.Parallel()
	c := setup(t).client()
	for _, text := range []string{"one", "two", "three"} {
		c.adds(text, object{"user_id": "ada"})
	}
	const base = "https://cairn.example/mem0"
	path, seen := "/v3/memories/?page_size=1", ""
	for n := 1; path != ""; n++ {
		var page results
		c.do(http.MethodPost, path, object{"filters": object{"user_id": "ada"}}).into(&page)
		if page.Count != 3 || len(page.Results) != 1 || n > 3 || (page.Previous == nil) != (n == 1) {
			t.Fatalf("page %d: %+v", n, page)
		}
		seen, path = seen+page.texts()+" ", ""
		if page.Next != nil {
			path = strings.TrimPrefix(*page.Next, base)
		}
	}
	if seen != "one two three " {
		t.Errorf("seen %s", seen)
	}
}

func TestWhatHasExpiredIsSeenOnRequestOnly(t *testing.T) {
	t.Parallel()
	c := setup(t).client()
	old := c.adds("Has a ticket for the opera.", object{"user_id": "ada", "expiration_date": "2020-01-01"})
	c.adds("Drinks green tea.", object{"user_id": "ada", "expiration_date": "2999-01-01"})
	if got := c.lists("user_id=ada"); got != "Drinks green tea." {
		t.Errorf("listed %s", got)
	}
	if got := c.lists("user_id=ada&show_expired=true"); got != "Has a ticket for the opera.|Drinks green tea." {
		t.Errorf("listed %s", got)
	}
	search := func(body object) (out results) {
		c.do(http.MethodPost, "/search", body).into(&out)
		return out
	}
	body := object{"query": "a ticket for the opera", "user_id": "ada"}
	if got := search(body); strings.Contains(got.texts(), "opera") {
		t.Errorf("found %s", got.texts())
	}
	body["show_expired"] = true
	if got := search(body); len(got.Results) == 0 || got.Results[0].ID != old {
		t.Errorf("found %+v", got)
	}
	c.do(http.MethodDelete, "/memories?user_id=ada", nil).into(&struct{}{}) // also deletes expired memories
	if got := c.lists("user_id=ada&show_expired=true"); got != "" {
		t.Errorf("left %s", got)
	}
}

func TestAMemoryIsUpdatedByAnyOfItsNames(t *testing.T) {
	t.Parallel()
	c := setup(t).client()
	id := c.adds("one", object{"user_id": "ada", "run_id": "r1", "expiration_date": "2999-01-01",
		"metadata": object{"n": 1}})
	read := func() (out entry) {
		t.Helper()
		c.do(http.MethodGet, "/memories/"+id, nil).into(&out)
		return out
	}
	for name, text := range map[string]string{"text": "two", "data": "three", "memory": "four"} {
		for range 2 {
			var out struct {
				entry
				Message string
			}
			c.do(http.MethodPut, "/memories/"+id, object{name: text}).into(&out)
			if got := read(); out.Memory != text || out.Message == "" || got.Memory != text || got.User != "ada" ||
				got.Run != "r1" || got.Expires != "2999-01-01" || got.Metadata["n"] != 1.0 {
				t.Errorf("%s: %+v, read %+v", name, out, got)
			}
		}
	}
	before := read().Memory
	c.do(http.MethodPut, "/memories/"+id, `{"expiration_date":null,"metadata":{"m":2}}`).into(&entry{})
	if got := read(); got.Memory != before || got.Expires != "" || got.Metadata["m"] != 2.0 || got.Run != "r1" {
		t.Errorf("%+v", got)
	}
	// The owner of a memory cannot change.
	c.do(http.MethodPut, "/memories/"+id, object{"metadata": object{"mem0": object{"user_id": "bob"}}}).into(&entry{})
	if got := read(); got.User != "ada" || got.Metadata["mem0"] != nil {
		t.Errorf("%+v", got)
	}
	for _, body := range []string{`{"expiration_date":"soon"}`, `{"expiration_date":7}`, `{"text":7}`, `[`} {
		c.do(http.MethodPut, "/memories/"+id, body).refused(http.StatusBadRequest)
	}
	if got := read(); got.Memory != before {
		t.Errorf("%+v", got)
	}
}

// A memory whose new content equals that of another is merged into it.
func TestAMemoryThatSaysWhatAnotherSaysBecomesIt(t *testing.T) {
	t.Parallel()
	c := setup(t).client()
	first := c.adds("Drinks green tea.", object{"user_id": "ada"})
	second := c.adds("Drinks tea.", object{"user_id": "ada"})
	var out struct{ Message string }
	c.do(http.MethodPut, "/memories/"+second, object{"text": "Drinks green tea."}).into(&out)
	if got := c.lists("user_id=ada"); got != "Drinks green tea." || out.Message == "" {
		t.Errorf("%+v, listed %s", out, got)
	}
	left := 0
	for _, id := range []string{first, second} {
		if c.do(http.MethodGet, "/memories/"+id, nil).status == http.StatusOK {
			left++
		}
	}
	if left != 1 {
		t.Errorf("%d memories are left", left)
	}
}

func TestADeletedMemoryHasAHistoryAndIsGone(t *testing.T) {
	t.Parallel()
	c := setup(t).client()
	id := c.adds("one", object{"user_id": "ada"})
	c.do(http.MethodPut, "/memories/"+id, object{"text": "two"}).into(&entry{})
	c.do(http.MethodDelete, "/memories/"+id, nil).into(&struct{}{})
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
		p := c.do(method, "/memories/"+id, object{"text": "three"}).refused(http.StatusNotFound)
		if p.Code != "not_found" {
			t.Errorf("%s: %+v", method, p)
		}
	}
	var history []struct {
		Event   string
		Deleted bool    `json:"is_deleted"`
		Old     *string `json:"old_memory"`
		New     *string `json:"new_memory"`
	}
	c.do(http.MethodGet, "/memories/"+id+"/history", nil).into(&history)
	if len(history) != 3 || history[0].Event != "ADD" || history[0].Old != nil || *history[0].New != "one" ||
		history[1].Event != "UPDATE" || *history[1].Old != "one" || *history[1].New != "two" ||
		history[2].Event != "DELETE" || *history[2].Old != "two" || history[2].New != nil || !history[2].Deleted {
		t.Errorf("%+v", history)
	}
	c.do(http.MethodGet, "/memories/0000000000000000/history", nil).refused(http.StatusNotFound)
}

func TestAResetForgetsTheMemoriesOfOneWorkspace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := b.as(b.makeKey(b.B, "admin"))
	other.adds("theirs", object{"user_id": "ada"})
	b.client().adds("one", object{"user_id": "ada"})
	b.client().adds("two", object{"agent_id": "cook"})
	for range 2 {
		b.client().do(http.MethodPost, "/reset", nil).into(&struct{}{})
		if got := b.client().lists("user_id=*") + b.client().lists("agent_id=*"); got != "" {
			t.Errorf("left %s", got)
		}
	}
	if got := other.lists("user_id=*"); got != "theirs" {
		t.Errorf("of another workspace: %s", got)
	}
}
