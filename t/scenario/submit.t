#!/usr/bin/perl
# submit_and_verify with the real programs and the real browser: forms with
# every kind of field, forms that validate by script, forms that stay where
# they are; and that nothing is ever sent twice.
use strict;
use warnings;
use utf8;
use BrowserTask::Apps;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use JSON::PP ();
use Test::More;

binmode Test::More->builder->$_, ':utf8' for qw(output failure_output);
my $json = JSON::PP->new->utf8->canonical;
my ($true, $false) = (JSON::PP::true, JSON::PP::false);

# A form that answers in one of the ways in which applications do.
sub contact {
	my ($name, $status, $html) = @_;
	open my $in, '<', ($ENV{srcdir} // '.') . '/t/data/apps/contact.html'
	    or die "contact.html: $!\n";
	local $/;
	my $form = <$in> =~ s{action="/contact"}{action="/$name"}r;
	my ($at, $text) = $html =~ /^(.*?)\+(.*)/;
	$html = $form =~ s/\Q$at\E/$at$text/r if defined $at;
	return ("GET /$name" => [ 200, $form ],
		"POST /$name" => [ $status, $html ]);
}

my $apps = BrowserTask::Apps->new($ENV{srcdir} // '.', sub { return (
	contact('contact-ok', 200, '<title>Received</title><h1>We write back'
		. '</h1><p>Failed deliveries are refunded.</p>'),
	contact('contact-500', 500, '<title>Oh</title><h1>Server Error (500)'
		. '</h1>'),
	contact('contact-422', 422, '<form action="/contact-422" method="post" '
		. 'novalidate>+<ul class="errorlist" id="id_email_error"><li>'
		. 'Enter a valid email address.</li></ul>'),
	contact('contact-listed', 200, '<form action="/contact-listed" '
		. 'method="post" novalidate>+<ul class="errorlist"><li>Enter a '
		. 'valid email address.</li></ul>'),
	contact('contact-title', 200, '<title>x</title><h1>Something went wrong'
		. '</h1><p>Ask later.</p>'),
	contact('contact-plain', 200, '<h1>Write to us</h1>+<p>This address is '
		. 'already registered.</p>'),
) });
my $site = BrowserTask::Scenario::Site->new;
my $i = BrowserTask::Harness->new->start;
my $c = client($i);

sub named { return { mode => 'semantic', query => $_[0] } }
sub css { return { mode => 'selector', selector => $_[0] } }

# fields: name, value, and perhaps a locator
sub form {
	my ($path, $fields, %more) = @_;
	my $r = task($c, 'submit_and_verify', {
		startUrl => $site->url($path),
		fields => [ map { { name => $_->[0], value => $_->[1],
			$_->[2] ? (locator => $_->[2]) : () } } @$fields ],
		%more });
	is($r->{output}{task_type}, 'submit_and_verify', "$path: has ended")
	    or diag explain $r;
	result_fits($c, $r) if $r->{result};
	return $r;
}

# What the echo page got, as it tells it.
sub got {
	my ($r) = @_;
	my $row = artifact_of($r, 'extraction') or return {};
	my $all = $json->decode(artifact($c, $row->{artifact_id}));
	my $text = join "\n", map { $_->{text} // () }
	    @{ $all->{content}{sections} };
	return $text;
}

my @order = ([ 'Your name', 'Ada Löv & <Co>' ], [ 'E-mail', 'a@example.org' ],
	[ 'How many', 3 ], [ 'Delivery', '2026-12-24' ], [ 'Colour', 'Green' ],
	[ 'A gift', $true ], [ 'Remarks', "first\nsecond" ],
	[ 'terms', $true, named('I agree to the terms') ]);

subtest 'every kind of field' => sub {
	$site->reset;
	my $r = form('/try/form', \@order, submit => named('Order now'),
		successIndicator => { type => 'textIncludes',
			value => 'Thank you' });
	my $res = $r->{result};

	is($r->{status}, 'succeeded', 'succeeds') or diag explain $r->{error};
	ok($res->{success}, 'is successful');
	ok($res->{indicatorMatched}, 'was verified');
	is_deeply($res->{submittedFields}, [ map { $_->[0] } @order ],
		'names what was filled in');
	is_deeply($r->{progress}, { doneSteps => 11, totalSteps => 11 },
		'progress: the fields and three');
	is($res->{finalPage}{url}, $site->url('/echo'), 'where it ended');
	is($res->{finalPage}{title}, 'Thank you', 'and its title');
	my $text = got($r);
	like($text, qr/\b$_\b/, "has sent $_") for 'name', '3', '2026-12-24',
	    'colour', 'gift', 'yes', 'a\@example\.org', 'first';
	like($text, qr/Ada Löv & <Co>/, 'as it was given');
	like($text, qr/colour\s*g\b/, 'the value of the line with that label');
	is({ $site->fetched }->{'/echo'}, 1, 'once');
};

subtest 'a form that is not right' => sub {
	$site->reset;
	my $r = form('/try/form', [ @order[ 0 .. 5 ] ]);

	is($r->{status}, 'partial_success', 'the page says what it lacks');
	like("@{ $r->{result}{messages} }", qr/look at terms again/,
		'in its own words');
	ok(!{ $site->fetched }->{'/echo'}, 'nothing was sent');
	$r = form('/try/form', [ @order[ 0 .. 5 ] ], submit => named('Order now'),
		successIndicator => { type => 'urlContains', value => '/echo',
			timeoutMs => 500 });
	is($r->{status}, 'partial_success', 'sent, but not verified')
	    or diag explain $r->{error};
	ok(!$r->{result}{success}, 'no success');
	ok(!$r->{result}{indicatorMatched}, 'not verified');
	is($r->{result}{error}{cause}, 'FORM_INVALID', 'with an error');
	like($json->encode($r->{result}{content}), qr/look at terms again/,
		'and what the page says about it');
	ok(artifact_of($r, 'screenshot'), 'and how it looks');
	is_deeply($r->{result}{summary},
		{ total => 2, succeeded => 1, failed => 1 }, 'one of two');
	ok(!{ $site->fetched }->{'/echo'}, 'nothing was sent');
};

subtest 'other forms' => sub {
	my $r = form('/try/form-zh', [ [ '姓名', '王小明' ],
		[ '手机号码', '13800000000' ], [ '城市', '上海' ],
		[ '留言', '你好' ] ], submit => named('提交'));
	is($r->{status}, 'succeeded', '联系我们') or diag explain $r->{error};
	is($r->{result}{indicatorMatched}, undef, 'nothing to verify');
	like(got($r), qr/王小明.*13800000000.*上海.*你好/s, 'what was sent');

	$r = form('/try/form-script', [ [ 'message', 'hello there' ] ],
		submit => named('send'), successIndicator => {
			type => 'selector', value => '#status:not(:empty)' });
	ok($r->{result}{success}, 'a form that is built late and stays')
	    or diag explain $r;
	is($r->{result}{finalPage}{url}, $site->url('/try/form-script'),
		'where it is');
	like($json->encode($r->{result}{content}), qr/message was sent/,
		'and says so');
};

# path, what of the page, success, in the messages, HTTP status, in the warnings
my @told = (
	[ '/contact-ok', {}, 1 ],
	[ '/contact-500', {}, 0, qr/^Server Error \(500\)$/, 500 ],
	[ '/contact-422', {}, 0, qr/Enter a valid email address/, 422 ],
	[ '/contact-listed', {}, 0, qr/Enter a valid email address/ ],
	[ '/contact-title', {}, 0, qr/^Something went wrong/ ],
	[ '/contact-plain', {}, 0, qr/this address is already registered/i ],
	[ '/contact-500', { successIndicator => { type => 'urlContains',
		value => '/contact' } }, 0, qr/Server Error/, 500 ],
	[ '/contact-listed', { successIndicator => { type => 'textIncludes',
		value => 'Write to us' } }, 1, qr/valid email/, undef,
		qr/met, but the page says/ ],
	[ '/toast?alert', {}, 0, qr/Mail server refused/ ],
	[ '/toast?field', {}, 0, qr/Email: Use an address of this harbour/ ],
	[ '/toast?good', {}, 1 ],
	[ '/toast', {}, 1, undef, undef, qr/the page stayed/ ],
);

for my $row (@told) {
	my ($path, $more, $good, $message, $http, $warning) = @$row;

	subtest "$path says how it went" => sub {
		my $r = task($c, 'submit_and_verify', {
			startUrl => $apps->url($path), %$more, fields => [
				{ name => 'Your name', value => 'Ada' },
				{ name => 'Email', value => 'ada' } ] });
		my $res = $r->{result};

		result_fits($c, $r);
		is($r->{status}, $good ? 'succeeded' : 'partial_success',
			'status') or diag explain $r;
		is(!!$res->{success}, !!$good, 'success');
		like(join('|', @{ $res->{messages} // [] }), $message // qr/^$/,
			'its words');
		is($res->{httpStatus}, $http, 'HTTP status');
		is($r->{progress}{doneSteps}, $good ? 5 : 4, 'units done');
		like("@{ $r->{warnings} }", $warning, 'warned of') if $warning;
		is(!!$res->{error}, !$good, 'an error, likewise');
		ok($good || artifact_of($r, 'screenshot'), 'a picture');
	};
}

subtest 'a secret' => sub {
	my $secret = join '', map { ('a' .. 'z')[ rand 26 ] } 1 .. 24;
	my $r = task($c, 'submit_and_verify', {
		startUrl => $site->url('/try/form-script'),
		fields => [ { name => 'message', secret => $secret } ],
		submit => named('send'), successIndicator => {
			type => 'textIncludes', value => 'was sent' } });
	ok($r->{result}{success}, 'is filled in') or diag explain $r;
	result_fits($c, $r);
	$r = task($c, 'submit_and_verify', {
		startUrl => $site->url('/try/form'),
		fields => [ (map { { name => $_->[0], value => $_->[1],
			$_->[2] ? (locator => $_->[2]) : () } }
			@order[ 0 .. 4, 7 ]),
			{ name => 'Remarks', secret => $secret } ],
		submit => named('Order now'), successIndicator => {
			type => 'textIncludes', value => 'Thank you' } });
	ok($r->{result}{success}, 'and on a page that tells it')
	    or diag explain $r;
	like(got($r), qr/remarks\s*\[secret\]/, 'is not told on');
	unlike($json->encode($r), qr/\Q$secret\E/, 'in the run');
	isnt(system('grep', '-rqsa', $secret, $i->state_dir), 0,
		'nor below the state directory');
};

subtest 'a field is never filled in for another' => sub {
	for my $fields ([ [ 'Username', 'ada' ], [ 'Email', 'a@example.org' ] ],
		[ [ 'Name', 'Ada' ] ]) {
		my $last = $fields->[-1][0];
		my $r = task($c, 'submit_and_verify', {
			startUrl => $apps->url('/signup'), fields => [
				map { { name => $_->[0], value => $_->[1] } }
				    @$fields ] });
		error_is($r->{error}, 'ELEMENT_NOT_FOUND', 'ELEMENT_NOT_FOUND',
			"$last is not there");
		like($r->{error}{message}, qr/field \Q$last\E: .*textbox/,
			'fields that are there are named');
		unlike($r->{error}{message}, qr/link/, 'links are not');
		is(artifact_of($r, 'screenshot')->{name}, 'not-found.png',
			'there is a picture') or diag explain $r->{output};
	}
	is((grep { /signup/ } $apps->posts), 0, 'nothing was sent');
};

subtest 'what is not there, what is refused' => sub {
	$site->reset;
	my $r = form('/try/form', [ [ 'Your name', 'x' ],
		[ 'shoe size', 42, css('#shoe') ] ]);
	error_is($r->{error}, 'ELEMENT_NOT_FOUND', 'ELEMENT_NOT_FOUND',
		'a field that is not there');
	like($r->{error}{message}, qr/shoe size.*#shoe/, 'is named');
	is($r->{error}{details}{failedStep}, 'fill_field', 'in its step');
	ok(!{ $site->fetched }->{'/echo'}, 'nothing was sent');

	my %good = (startUrl => $site->url('/try/form'));
	for my $bad ([], [ { name => 'x' } ], [ { value => 'x' } ],
		[ ({ name => 'x', value => 'y' }) x 21 ],
		[ { name => 'x', value => undef } ],
		[ { name => 'x', value => 'y', secret => 'z' } ],
		[ { name => 'x', colour => 'y' } ]) {
		$r = task($c, 'submit_and_verify', { %good, fields => $bad });
		is($r->{errorCode}, 'INVALID_PARAMETER',
			'refused: ' . substr $json->encode($bad), 0, 50);
	}
};

is($i->stop, 0, 'stops');
is(left(60, $site->{pid}, $apps->{pid}), '', 'nothing is left');
$site->stop;
is($apps->stop, 0, 'the applications, too');
done_testing();
