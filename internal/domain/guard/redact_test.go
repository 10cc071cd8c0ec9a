package guard_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"cairn/internal/domain/guard"
	"cairn/internal/domain/transcript"
	"cairn/internal/testkit"
)

func ExampleRedactor() {
	redactor := guard.NewRedactor(guard.Options{Emails: true})
	first, counts := redactor.Redact("connect with postgres://app:s3cr3tPw@db/x, home is /home/mia/work")
	second, _ := redactor.Redact("again postgres://app:s3cr3tPw@db/y, mail mia@example.com")
	fmt.Println(first)
	fmt.Println(second)
	fmt.Println(counts)
	// Output:
	// connect with postgres://app:{{secret:url_password_1}}@db/x, home is /home/{{personal:home_user_1}}/work
	// again postgres://app:{{secret:url_password_1}}@db/y, mail {{personal:email_1}}
	// map[home_user:1 url_password:1]
}

type leaked struct{ Kind, Gone, Text string }

func secretTexts(t testing.TB) []leaked {
	all := fixture[[]leaked](t, "secrets.yaml")
	for i := range all {
		all[i].Gone, all[i].Text = strings.ReplaceAll(all[i].Gone, "|", ""), strings.ReplaceAll(all[i].Text, "|", "")
	}
	return all
}

func TestRedactReplacesEverySecretByItsKind(t *testing.T) {
	for _, c := range secretTexts(t) {
		redacted, counts := guard.NewRedactor(guard.Options{}).Redact(c.Text)
		if strings.Contains(redacted, c.Gone) || counts[c.Kind] == 0 ||
			!strings.Contains(redacted, "{{secret:"+c.Kind+"_1}}") {
			t.Errorf("%s: %q became %q, %v", c.Kind, c.Text, redacted, counts)
		}
		findings := guard.Secrets(c.Text)
		if len(findings) == 0 || guard.Verdict(findings) != guard.Dangerous ||
			!strings.HasPrefix(findings[0].ID, "secret.") {
			t.Errorf("%s: %q: findings %+v", c.Kind, c.Text, findings)
		}
	}
}

func TestSecretsLeavesNamesOfSecretsAlone(t *testing.T) {
	for _, text := range fixture[[]string](t, "not_secrets.yaml") {
		if findings := guard.Secrets(text); len(findings) > 0 {
			redacted, _ := guard.NewRedactor(guard.Options{}).Redact(text)
			t.Errorf("%q: %+v: %q", text, findings, redacted)
		}
	}
}

func TestRedactKeepsWhatFollowsAPrivateKey(t *testing.T) {
	redacted, _ := guard.NewRedactor(guard.Options{}).
		Redact("a\n-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEA7\n-----END PRIVATE KEY-----\nb")
	if redacted != "a\n{{secret:private_key_1}}\nb" {
		t.Errorf("got %q", redacted)
	}
}

func TestRedactHidesPrivateDataByOption(t *testing.T) {
	text := "mail mia.li@example.com or 李明@例子.中国, call +1 (415) 555-0134 or 13812345678, see /Users/mia/x, " +
		"C:\\Users\\Mia Li and /home/runner/work, /home/user/a"
	plain, counts := guard.NewRedactor(guard.Options{}).Redact(text)
	if counts["email"]+counts["phone"] != 0 || counts["home_user"] != 2 ||
		!strings.Contains(plain, "/home/runner/work") {
		t.Errorf("%q %v", plain, counts)
	}
	full, counts := guard.NewRedactor(guard.Options{Emails: true, Phones: true}).Redact(text)
	if counts["email"] != 2 || counts["phone"] != 2 || strings.Contains(full, "mia.li") ||
		strings.Contains(full, "0134") {
		t.Errorf("%q %v", full, counts)
	}
	if len(guard.Secrets(text)) != 0 {
		t.Error("private data is no secret")
	}
}

func TestMessagesAreRedactedAndStayJSON(t *testing.T) {
	key := "sk-4fjA83kdPq0zLm27XnRtYw61"
	messages := []transcript.Message{
		{Role: transcript.User, Content: "use " + key},
		{Role: transcript.Assistant, ToolCalls: []transcript.ToolCall{
			{Name: "pay", Arguments: `{"card": 4111111111111111, "key": "` + key + `"}`}}},
		{Role: transcript.Tool, Content: `[{"card": "4111 1111 1111 1111"}]`},
	}
	before := fmt.Sprint(messages)
	redacted, counts := guard.NewRedactor(guard.Options{}).Messages(messages)
	arguments := redacted[1].ToolCalls[0].Arguments
	if arguments != `{"card": "{{secret:card_1}}", "key": "{{secret:openai_key_1}}"}` {
		t.Errorf("arguments %s", arguments)
	}
	if redacted[0].Content != "use {{secret:openai_key_1}}" ||
		redacted[2].Content != `[{"card": "{{secret:card_1}}"}]` {
		t.Errorf("got %+v", redacted)
	}
	if !reflect.DeepEqual(counts, guard.Counts{"openai_key": 2, "card": 2}) || counts.Total() != 4 {
		t.Errorf("counts %v", counts)
	}
	if fmt.Sprint(messages) != before {
		t.Error("the messages themselves were changed")
	}
}

// checkRedaction checks properties that hold for every text.
func checkRedaction(t *testing.T, text string) {
	t.Helper()
	options := guard.Options{Emails: true, Phones: true}
	redactor := guard.NewRedactor(options)
	once, _ := redactor.Redact(text)
	if twice, counts := redactor.Redact(once); twice != once || len(counts) != 0 {
		t.Errorf("not idempotent: %q, %q, %q", text, once, twice)
	}
	if again, _ := guard.NewRedactor(options).Redact(text); again != once {
		t.Errorf("not deterministic: %q and %q", once, again)
	}
	if findings := guard.Secrets(once); len(findings) != 0 {
		t.Errorf("%q still has %+v", once, findings)
	}
	if json.Valid([]byte(text)) {
		messages, _ := guard.NewRedactor(options).Messages([]transcript.Message{{Content: text}})
		if !json.Valid([]byte(messages[0].Content)) {
			t.Errorf("%q is no JSON any more: %q", text, messages[0].Content)
		}
	}
}

func TestRedactedTextHasNoSecrets(t *testing.T) {
	testkit.Long(t)
	random := rand.New(rand.NewPCG(1, 2))
	secrets := secretTexts(t)
	glue := []string{"", " ", "\n", "=", ":", "\"", "_", "-", "/", "@", "}}", "{{", "key=", "password: ", "Bearer ",
		"{{secret:x_1}}"}
	for range 2000 {
		var b strings.Builder
		for range 1 + random.IntN(5) {
			one := secrets[random.IntN(len(secrets))]
			b.WriteString(glue[random.IntN(len(glue))])
			b.WriteString([]string{one.Text, one.Gone}[random.IntN(2)])
		}
		checkRedaction(t, b.String())
		if t.Failed() {
			return
		}
	}
}

func FuzzRedact(f *testing.F) {
	for _, c := range secretTexts(f) {
		f.Add(c.Text)
	}
	for _, text := range fixture[[]string](f, "not_secrets.yaml") {
		f.Add(text)
	}
	f.Fuzz(checkRedaction)
}
