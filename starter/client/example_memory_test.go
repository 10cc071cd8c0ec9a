package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"cairn/starter/client"
)

func ExampleClient_Add() {
	c, err := client.New(client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	memory := client.NewMemory{Type: "personal", Target: "bob", Content: "Bob prefers aisle seats."}
	for range 2 { // a known memory is not added again
		added, err := c.Add(context.Background(), memory)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(added.Action, len(added.IDs))
	}
	// Output:
	// added 1
	// already_exists 1
}

func ExampleClient_AddAll() {
	c, err := client.New(client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	said := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	results, err := c.AddAll(context.Background(), []client.NewMemory{
		{Type: "personal", Target: "laura", Content: "Laura moved to Lisbon.", EventTime: &said},
		{Type: "personal", Target: "laura", Content: ""},
		{Type: "personal", Target: "laura", Content: "Laura moved to Lisbon."}}, client.RequestID("import-laura"))
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range results {
		fmt.Println(r.Status)
	}
	// Output:
	// added
	// failed
	// duplicate
}

func ExampleClient_InferAll() {
	c, err := client.New(client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	results, err := c.InferAll(context.Background(), []client.NewMemory{
		{Target: "mona", Content: "I moved to Lisbon in March."},
		{Target: "mona", Content: "I never drink coffee."}}, client.RequestID("import-mona"))
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range results {
		fmt.Println(r.Status, r.Request)
	}
	// Output:
	// accepted import-mona/0
	// accepted import-mona/0
}

func ExampleClient_Get() {
	c, err := client.New(client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	added, err := c.Add(ctx, client.NewMemory{Type: "personal", Target: "carol", Content: "Carol speaks Japanese."})
	if err != nil {
		log.Fatal(err)
	}
	m, err := c.Get(ctx, added.IDs[0])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.Target+":", m.Content)
	// Output: carol: Carol speaks Japanese.
}

func ExampleClient_List() {
	c, err := client.New(client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	for _, text := range []string{"Dave is vegetarian.", "Dave lives in Kyoto."} {
		if _, err := c.Add(ctx, client.NewMemory{Type: "personal", Target: "dave", Content: text}); err != nil {
			log.Fatal(err)
		}
	}
	memories, err := c.List(ctx, client.Types("personal"), client.Targets(client.Target{Target: "dave"}))
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range memories {
		fmt.Println(m.Content)
	}
	// Output:
	// Dave is vegetarian.
	// Dave lives in Kyoto.
}

func ExampleClient_Update() {
	c, err := client.New(client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	added, err := c.Add(ctx, client.NewMemory{Type: "personal", Target: "erin", Content: "Erin lives in Tokyo."})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := c.Update(ctx, added.IDs[0], "Erin lives in Nara."); err != nil {
		log.Fatal(err)
	}
	m, err := c.Get(ctx, added.IDs[0])
	fmt.Println(m.Version, m.Content, err)
	// Output: 2 Erin lives in Nara. <nil>
}

func ExampleClient_Revisions() {
	c, err := client.New(client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	added, err := c.Add(ctx, client.NewMemory{Type: "personal", Target: "frank", Content: "Frank has a cat."})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := c.Update(ctx, added.IDs[0], "Frank has two cats."); err != nil {
		log.Fatal(err)
	}
	revisions, err := c.Revisions(ctx, added.IDs[0])
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range revisions {
		fmt.Println(r.Version, r.Content)
	}
	// Output:
	// 2 Frank has two cats.
	// 1 Frank has a cat.
}

func ExampleClient_Delete() {
	c, err := client.New(client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	added, err := c.Add(ctx, client.NewMemory{Type: "personal", Target: "grace", Content: "Grace plays chess."})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := c.Delete(ctx, added.IDs[0]); err != nil {
		log.Fatal(err)
	}
	m, err := c.Get(ctx, added.IDs[0])
	fmt.Println(m.Status, err)
	// Output: removed <nil>
}

func ExampleClient_DeleteAll() {
	c, err := client.New(client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	for _, text := range []string{"Heidi likes hiking.", "Heidi owns a tent."} {
		if _, err := c.Add(ctx, client.NewMemory{Type: "personal", Target: "heidi", Content: text}); err != nil {
			log.Fatal(err)
		}
	}
	ids, err := c.DeleteAll(ctx, client.Targets(client.Target{Type: "personal", Target: "heidi"}))
	fmt.Println(len(ids), err)
	_, err = c.DeleteAll(ctx) // requires Types or Targets
	fmt.Println(errors.Is(err, client.ErrInvalidArgument))
	// Output:
	// 2 <nil>
	// true
}

func ExampleClient_Summary() {
	c, err := client.New(client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	session := []client.Message{
		{Role: "user", Content: "I am Ivan. I only fly from Osaka."},
		{Role: "assistant", Content: "Noted."}}
	made, err := c.Summary(context.Background(), client.SummaryRequest{Messages: session}, client.Wait(time.Minute))
	if err != nil {
		log.Fatal(err)
	}
	for _, task := range made.Summary.Tasks {
		fmt.Printf("%s: %d memory added\n", task.Target.Target, len(task.Added))
	}
	// Output: Ivan: 1 memory added
}

func ExampleClient_Request() {
	c, err := client.New(client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	session := client.SummaryRequest{Messages: []client.Message{{Role: "user", Content: "I am Judy. I fly a lot."}}}
	if _, err := c.Summary(ctx, session, client.RequestID("session-judy"), client.Wait(time.Minute)); err != nil {
		log.Fatal(err)
	}
	request, err := c.Request(ctx, "session-judy")
	fmt.Println(request.State, request.Success, err)
	// Output: ended true <nil>
}

func ExampleClient_Undo() {
	c, err := client.New(client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	session := client.SummaryRequest{Messages: []client.Message{{Role: "user", Content: "I am Kim. I fly a lot."}}}
	if _, err := c.Summary(ctx, session, client.RequestID("session-kim"), client.Wait(time.Minute)); err != nil {
		log.Fatal(err)
	}
	undone, err := c.Undo(ctx, "session-kim")
	if err != nil {
		log.Fatal(err)
	}
	for _, u := range undone { // the memory, the digest of the session and the new target
		fmt.Println(u.Status)
	}
	// Output:
	// undone
	// undone
	// undone
}
