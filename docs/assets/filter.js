// Filters the list of operations: those that contain every typed word remain.
'use strict';

const box = document.querySelector('.filter');
const input = document.getElementById('filter');
const count = document.getElementById('filtered');
const rows = [...document.querySelectorAll('.operations li')].map((row) => ({ row, text: row.textContent.toLowerCase() }));

function narrow() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  let left = 0;
  for (const { row, text } of rows) {
    row.hidden = !words.every((word) => text.includes(word));
    if (!row.hidden) left += 1;
  }
  for (const family of document.querySelectorAll('.family')) {
    family.hidden = !family.querySelector('.operations li:not([hidden])');
  }
  count.textContent = words.length === 0 ? '' : `${left} of ${rows.length}`;
}

box.hidden = false;
input.addEventListener('input', narrow);
