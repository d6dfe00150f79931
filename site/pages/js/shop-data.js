/*
 * The shop's 1,500 things: every maker's version of every thing, the same at
 * each load. A small linear generator decides price, opinion and stock.
 */
'use strict';

var SHOP = (function () {
	var things = {
		Lamps: ['Storm lamp', 'Reading lamp', 'Pier lantern',
		    'Bicycle lamp', 'Net loft light', 'Chart table lamp',
		    'Candle holder', 'Signal lamp', 'Night light', 'Head lamp'],
		Tools: ['Caulking iron', 'Hand drill', 'Block plane',
		    'Marlinspike', 'Folding rule', 'Tack hammer',
		    'Wire brush', 'Sailmaker\'s palm', 'Vice', 'Bench hook'],
		Kitchen: ['Bread basket', 'Dough trough', 'Oven peel',
		    'Bean pot', 'Fish kettle', 'Whisk', 'Butter dish',
		    'Pepper mill', 'Rolling pin', 'Stone jar'],
		Books: ['Tide tables', 'Knot book', 'Almanac', 'Pilot guide',
		    'Bird list', 'Log book', 'Atlas of the coast',
		    'Recipe book', 'Song book', 'Grammar'],
		Baskets: ['Log basket', 'Bicycle basket', 'Picnic basket',
		    'Laundry basket', 'Letter tray', 'Seed tray',
		    'Fish creel', 'Cat basket', 'Sewing box', 'Fruit bowl'],
		Tea: ['Tea pot', 'Tea caddy', 'Milk jug', 'Tea strainer',
		    'Kettle', 'Tea towel', 'Cup and saucer', 'Sugar bowl',
		    'Tea cosy', 'Cake stand']
	};
	var makers = ['Almgren', 'Barrow & Sons', 'Castellan', 'Dunmore',
	    'Eskola', 'Fell', 'Greta Rask', 'Hartvig', 'Ilmari', 'Jessen',
	    'Kolar', 'Lunt', 'Marrow', 'Norby', 'Orrin', 'Pellam', 'Quill',
	    'Rask', 'Skarrow Works', 'Thorne', 'Upper Mill', 'Vaas',
	    'Wexley', 'Yarrow', 'Zander'];
	var icons = { Lamps: 'lamp', Tools: 'tool', Kitchen: 'jar',
	    Books: 'book', Baskets: 'basket', Tea: 'teapot' };
	var notes = ['Made to be mended.', 'Heavier than it looks.',
	    'A second one costs half.', 'Comes with a spare.',
	    'Tested on the ferry.', 'Will outlive the cat.',
	    'Better after ten years.', 'The plain version.',
	    'As used by the pilots.', 'Packed in straw.'];
	var seed = 20260502, list = [];

	function next(n) {
		seed = (seed * 1103515245 + 12345) % 2147483648;
		return Math.floor(seed / 65536) % n;
	}

	makers.forEach(function (maker, m) {
		Object.keys(things).forEach(function (cat) {
			things[cat].forEach(function (name) {
				list.push({
					id: 'Q' + (1000 + list.length),
					name: name + ', ' + maker,
					maker: maker,
					cat: cat,
					icon: '/img/' + icons[cat] + '.svg',
					cents: 290 + next(9000) + next(60) * 100,
					old: next(6) === 0,
					stars: 2 + next(31) / 10,
					votes: next(900),
					stock: next(9) === 0 ? 0 : 1 + next(60),
					note: notes[(next(10) + m) % 10]
				});
			});
		});
	});
	return list;
})();
