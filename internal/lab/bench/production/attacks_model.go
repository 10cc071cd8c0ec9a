package production

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"cairn/internal/domain/run"
)

func attackReply(ctx context.Context, s *siege, t tenant) (string, error) {
	for n, words := range []string{wordEndless, wordLong} {
		out, shown, err := s.ask(ctx, t, n, words)
		if err != nil {
			return "", err
		}
		if sent := s.asked(words); !strings.Contains(shown, "model_invalid") || sent != 1 {
			return "", fmt.Errorf("%s: %s after %d requests: %.300s", words, out.Reason, sent, shown)
		}
	}
	return "model_invalid, 1 request each", nil
}

var errorID = regexp.MustCompile(`error_id=(\S+)|"error_id":"([^"]+)"`)

func attackModelErrors(ctx context.Context, s *siege, t tenant) (string, error) {
	_, shown, err := s.ask(ctx, t, 0, wordRefused)
	if err != nil {
		return "", err
	}
	for _, private := range []string{"sk-aB3dE6gH", "org-acme", "llm.internal"} {
		if strings.Contains(shown, private) {
			return "", fmt.Errorf("the tenant sees %q", private)
		}
	}
	log := s.log()
	for _, id := range errorID.FindAllStringSubmatch(log, -1) {
		if strings.Contains(shown, id[1]+id[2]) && strings.Contains(log, "org-acme") &&
			!strings.Contains(log, "sk-aB3dE6gH") {
			return "error ID " + id[1] + id[2] + " leads to the log", nil
		}
	}
	return "", fmt.Errorf("no error ID leads from %.300s to the log", shown)
}

func attackRedaction(ctx context.Context, s *siege, t tenant) (string, error) {
	secret := "sk-" + strings.Repeat("Zx9wV7uT", 3)
	if _, _, err := s.ask(ctx, t, 0, "to store "+secret); err != nil {
		return "", err
	}
	if _, _, err := s.ask(ctx, t, 1, "to read it from the history"); err != nil {
		return "", err
	}
	requests := 0
	for _, c := range s.e.model.Requests() {
		if strings.Contains(string(c.Body), secret) {
			return "", errors.New("the secret is in a request")
		}
		if strings.Contains(string(c.Body), t.name) {
			requests++
		}
	}
	a, err := s.e.audit(ctx)
	if err != nil {
		return "", err
	}
	defer a.Close()
	n, err := a.Number(ctx, "in_ledger", secret)
	if err != nil {
		return "", err
	}
	if n > 0 || requests < 2 {
		return "", fmt.Errorf("%d rows of the ledger hold the secret, %d requests", n, requests)
	}
	return fmt.Sprintf("in 0 of %d requests, 0 rows", requests), nil
}

func attackSpend(ctx context.Context, s *siege, t tenant) (string, error) {
	const most = 40 // far more turns than 5 $ pay for
	for n := range most {
		_, shown, err := s.ask(ctx, t, n, "to know the weather")
		if err != nil {
			return "", err
		}
		if strings.Contains(shown, "micros_per_day") {
			if requests := s.asked(t.name); n == 0 || requests > n {
				return "", fmt.Errorf("turn %d is refused after %d requests to the model", n+1, requests)
			}
			return fmt.Sprintf("turn %d is refused", n+1), nil
		}
	}
	return "", fmt.Errorf("%d turns of about a dollar are answered", most)
}

func attackRuns(ctx context.Context, s *siege, t tenant) (string, error) {
	out, _, err := s.ask(ctx, t, 0, "a run")
	if err != nil {
		return "", err
	}
	for _, path := range []string{out.Links.Run, out.Links.Events} {
		if err := s.c.expect(ctx, s.tenants[0], http.MethodGet, path, nil, http.StatusNotFound, nil); err != nil {
			return "", fmt.Errorf("another workspace: %w", err)
		}
	}
	if err := run.CheckID(out.Run); err != nil {
		return "", err
	}
	return "404 for another workspace", nil
}
