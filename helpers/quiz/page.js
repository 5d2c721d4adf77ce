// What jupyterquiz's questions lack for keyboard and screen reader. It draws them when its element
// is on the page, at once or a little later.
(function mend(tries) {
  const fresh = [...document.querySelectorAll(".cu-quiz:not([data-mended])")];
  const drawn = fresh.filter((host) => host.querySelector(".Quiz"));
  drawn.forEach(mendQuiz);
  if (drawn.length < fresh.length && tries) setTimeout(mend, 200, tries - 1);

  function mendQuiz(host) {
    host.dataset.mended = "yes";
    host.querySelector(".cu-quiz-text").remove();
    // A field would be emptied whenever it gets the focus.
    host.addEventListener("focus", (event) => event.stopImmediatePropagation(), true);
    host.querySelectorAll(".Quiz").forEach(mendQuestion);
  }

  function mendQuestion(box) {
    const asked = box.firstElementChild;
    box.setAttribute("role", "group");
    box.setAttribute("aria-labelledby", asked.id);
    box.querySelector(".Feedback").setAttribute("role", "status");
    const field = box.querySelector(".Input-text");
    if (field) mendField(box, field, asked);
    else mendOptions(box);
  }

  // What was answered, for the kernel, where there is one that listens.
  function tell(box) {
    const told = box.closest(".cu-quiz").dataset.told;
    const ear = told && document.querySelector(`.${told} input`);
    const feedback = box.querySelector(".Feedback");
    const { answeredcorrect = 0, numcorrect = 0 } = feedback.dataset;
    const right = feedback.classList.contains("correct");
    if (!ear || (right && numcorrect > 1 && answeredcorrect < numcorrect)) return; // more to find
    ear.value = `${box.dataset.qnum} ${right ? "right" : "wrong"}`;
    ear.dispatchEvent(new Event("change", { bubbles: true }));
  }

  function mendField(box, field, asked) {
    const label = box.querySelector(".InpLabel");
    label.textContent = "Your number:";
    label.htmlFor = field.id;
    field.setAttribute("aria-describedby", asked.id);
    field.autocomplete = "off";
    field.onpaste = null;
    field.addEventListener("input", () => { field.value = field.value.replace(/[,\s]/g, ""); });
    const check = document.createElement("button");
    check.type = "button";
    check.className = "cu-quiz-check";
    check.textContent = "Check";
    const judge = (back) => {
      if (!field.value.trim()) return field.focus();
      field.onkeypress({ keyCode: 13, which: 13 });
      back.focus(); // jupyterquiz takes the focus away, or to the next question
      tell(box);
    };
    check.onclick = () => judge(check);
    field.onkeydown = (event) => { if (event.key === "Enter") judge(field), event.preventDefault(); };
    field.after(check);
  }

  // Radio buttons would answer with each arrow key, and several cannot be chosen among them.
  function mendOptions(box) {
    const options = [...box.querySelectorAll(".MCButton")];
    const mark = () => options.forEach((option) =>
      option.setAttribute("aria-pressed", /correctButton/i.test(option.className)));
    options.forEach((option) => {
      option.querySelector("input").remove();
      option.setAttribute("role", "button");
      option.tabIndex = 0;
      option.addEventListener("click", () => { mark(); tell(box); });
      option.onkeydown = (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        option.click();
      };
    });
    mark();
  }
})(50);
