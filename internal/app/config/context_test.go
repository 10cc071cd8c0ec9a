package config_test

import (
	"testing"

	"cairn/internal/app/config"
	"cairn/internal/domain/fault"
)

func TestContextsOfModels(t *testing.T) {
	t.Parallel()
	c, err := config.Config{LLMContext: "64000, big=1000000,small = 8000"}.Contexts()
	if err != nil {
		t.Fatal(err)
	}
	for models, want := range map[[2]string]int{
		{"big", "big"}: 1_000_000, {"big", "small"}: 8000, {"big", "x"}: 64_000,
	} {
		if got := c.For(models[:]...); got != want {
			t.Errorf("%v: %d, want %d", models, got, want)
		}
	}
	if c, err := (config.Config{}).Contexts(); err != nil || c.Default != config.DefaultContext {
		t.Errorf("without a setting: %+v, %v", c, err)
	}
	for _, invalid := range []string{"many", "m=", "100", "m=-5", "99999999999"} {
		if _, err := (config.Config{LLMContext: invalid}).Contexts(); fault.CodeOf(err) != fault.Misconfigured {
			t.Errorf("%q: %v", invalid, err)
		}
	}
}
