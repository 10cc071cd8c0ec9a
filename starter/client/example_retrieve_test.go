package client_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"cairn/starter/client"
)

// Search with mode fast, which calls no model.
func ExampleClient_Retrieve() {
	c, err := client.New(client.Config{}) // CAIRN_URL and CAIRN_KEY
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()

	kim := client.Target{Type: "personal", Target: "kim"}
	_, err = c.Add(ctx, client.NewMemory{Content: "Prefers window seats.", Type: kim.Type, Target: kim.Target})
	if err != nil {
		log.Fatal(err)
	}
	answer, err := c.Retrieve(ctx, "Which seats does Kim prefer?", client.Mode("fast"), client.Targets(kim))
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range answer.Memories {
		fmt.Println(m.Content)
	}
	// Output: Prefers window seats.
}

// Let an agent search and answer.
func ExampleClient_Retrieve_agentic() {
	c, err := client.New(client.Config{}) // CAIRN_URL and CAIRN_KEY
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()

	answer, err := c.Retrieve(ctx, "Where does Alice fly from?", client.Mode("agentic"), client.Wait(time.Minute))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Answer)
	// Output: Alice flies from Osaka.
}

func ExampleClient_Search() {
	c, err := client.New(client.Config{}) // CAIRN_URL and CAIRN_KEY
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()

	_, err = c.Add(ctx, client.NewMemory{Content: "Collects meteorites.", Type: "personal", Target: "lea"})
	if err != nil {
		log.Fatal(err)
	}
	results, err := c.Search(ctx, "meteorites", client.Types("personal"))
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range results {
		fmt.Println(r.Kind, r.Target, r.Text)
	}
	// Output: memory lea Collects meteorites.
}

func ExampleTopK() {
	c, err := client.New(client.Config{}) // CAIRN_URL and CAIRN_KEY
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()

	mia := client.Target{Type: "personal", Target: "mia"}
	for _, text := range []string{"Likes green tea.", "Likes black tea.", "Likes tea with milk."} {
		if _, err := c.Add(ctx, client.NewMemory{Content: text, Type: mia.Type, Target: mia.Target}); err != nil {
			log.Fatal(err)
		}
	}
	answer, err := c.Retrieve(ctx, "tea", client.Mode("fast"), client.Targets(mia), client.TopK(2))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(answer.Memories))
	// Output: 2
}

func ExampleMode() {
	c, err := client.New(client.Config{}, client.Mode("fast")) // the default of this client
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()

	fast, err := c.Retrieve(ctx, "Where does Alice fly from?")
	if err != nil {
		log.Fatal(err)
	}
	agentic, err := c.Retrieve(ctx, "Where does Alice fly from?", client.Mode("agentic"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(fast.Mode, agentic.Mode)
	// Output: fast agentic
}

func ExampleTypes() {
	c, err := client.New(client.Config{}) // CAIRN_URL and CAIRN_KEY
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()

	_, err = c.Add(ctx, client.NewMemory{Content: "Restart the queue before the worker.", Type: "procedural",
		Target: "deployment"})
	if err != nil {
		log.Fatal(err)
	}
	memories, err := c.List(ctx, client.Types("procedural"))
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range memories {
		fmt.Println(m.Target, "–", m.Content)
	}
	// Output: deployment – Restart the queue before the worker.
}

func ExampleTargets() {
	c, err := client.New(client.Config{}) // CAIRN_URL and CAIRN_KEY
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()

	for _, name := range []string{"nils", "olga", "paul"} {
		_, err := c.Add(ctx, client.NewMemory{Content: "Lives in Malmö.", Type: "personal", Target: name})
		if err != nil {
			log.Fatal(err)
		}
	}
	memories, err := c.List(ctx, client.Targets(client.Target{Target: "nils"}, client.Target{Target: "paul"}))
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range memories {
		fmt.Println(m.Target)
	}
	// Output:
	// nils
	// paul
}

func ExampleDays() {
	c, err := client.New(client.Config{}) // CAIRN_URL and CAIRN_KEY
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()

	quinn := client.Target{Type: "personal", Target: "quinn"}
	_, err = c.Add(ctx, client.NewMemory{Content: "Moved to Turin.", Type: quinn.Type, Target: quinn.Target})
	if err != nil {
		log.Fatal(err)
	}
	for _, days := range []string{"20200101", "20200101,20991231"} { // one day, and a range
		answer, err := c.Retrieve(ctx, "Turin", client.Mode("fast"), client.Targets(quinn), client.Days(days))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(len(answer.Memories))
	}
	// Output:
	// 0
	// 1
}

// Return only results with the best score.
func ExampleMinScore() {
	c, err := client.New(client.Config{}) // CAIRN_URL and CAIRN_KEY
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()

	rosa := client.Target{Type: "personal", Target: "rosa"}
	for _, text := range []string{"Speaks Finnish.", "Owns a red canoe."} {
		if _, err := c.Add(ctx, client.NewMemory{Content: text, Type: rosa.Type, Target: rosa.Target}); err != nil {
			log.Fatal(err)
		}
	}
	answer, err := c.Retrieve(ctx, "red canoe", client.Mode("fast"), client.Targets(rosa), client.MinScore(1))
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range answer.Memories {
		fmt.Println(m.Content)
	}
	// Output: Owns a red canoe.
}

// Let a model write the found memories as one text, in at most 5 seconds.
func ExampleDeadline() {
	c, err := client.New(client.Config{}) // CAIRN_URL and CAIRN_KEY
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()

	sven := client.Target{Type: "personal", Target: "sven"}
	_, err = c.Add(ctx, client.NewMemory{Content: "Sails on Sundays.", Type: sven.Type, Target: sven.Target})
	if err != nil {
		log.Fatal(err)
	}
	answer, err := c.Retrieve(ctx, "When does Sven sail?", client.Mode("fast"), client.Targets(sven),
		client.Enable("enable_llm_rewrite", true), client.Deadline(5*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Answer)
	// Output: Sven sails on Sundays.
}

func ExampleEnable() {
	c, err := client.New(client.Config{}) // CAIRN_URL and CAIRN_KEY
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()

	tess := client.Target{Type: "personal", Target: "tess"}
	_, err = c.Add(ctx, client.NewMemory{Content: "Sails on Sundays.", Type: tess.Type, Target: tess.Target})
	if err != nil {
		log.Fatal(err)
	}
	answer, err := c.Retrieve(ctx, "When does Tess sail?", client.Mode("fast"), client.Targets(tess),
		client.Enable("enable_llm_rewrite", true))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Answer)
	// Output: Tess sails on Sundays.
}

func ExampleMessages() {
	c, err := client.New(client.Config{}) // CAIRN_URL and CAIRN_KEY
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()

	answer, err := c.Retrieve(ctx, "", client.Mode("agentic"), client.Messages(
		client.Message{Role: "user", Content: "Alice wants to fly to Rome."},
		client.Message{Role: "assistant", Content: "I can book that."},
		client.Message{Role: "user", Content: "Where does Alice fly from?"}, // the question
	))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Answer)
	// Output: Alice flies from Osaka.
}

// Show the agent an earlier attempt at the task.
func ExampleTrajectories() {
	c, err := client.New(client.Config{}) // CAIRN_URL and CAIRN_KEY
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()

	score := 0.25
	answer, err := c.Retrieve(ctx, "Where does Alice fly from?", client.Mode("agentic"),
		client.Trajectories(client.Trajectory{TaskID: "book-flight", Score: &score, Messages: []client.Message{
			{Role: "user", Content: "Book the flight of Alice."},
			{Role: "assistant", Content: "Booked from Tokyo."},
		}}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Answer)
	// Output: Alice flies from Osaka.
}

func ExampleMetadata() {
	c, err := client.New(client.Config{}) // CAIRN_URL and CAIRN_KEY
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()

	answer, err := c.Retrieve(ctx, "Where does Alice fly from?", client.Mode("agentic"),
		client.Metadata(map[string]any{"ticket": "T-7"}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Metadata["ticket"])
	// Output: T-7
}
